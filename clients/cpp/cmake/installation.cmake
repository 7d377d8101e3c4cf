# `cmake --install` puts the library, its headers and those of the stubs where find_package(happycity) finds them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/happycity")

set_target_properties(happycity_protocol PROPERTIES EXPORT_NAME protocol)
install(TARGETS happycity happycity_protocol EXPORT happycity ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT happycity FILE happycityTargets.cmake NAMESPACE happycity:: DESTINATION "${package}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/happycity" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_BINARY_DIR}/generated/happycity" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.pb.h")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/happycityConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/happycityConfig.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/happycityConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/happycityConfig.cmake" "${PROJECT_BINARY_DIR}/happycityConfigVersion.cmake"
  DESTINATION "${package}")
if(HAPPYCITY_ENGINE)
  install(FILES "${PROJECT_BINARY_DIR}/${happycity_archive}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
