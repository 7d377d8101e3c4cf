# The native engine, for Decision::position(): two crates without dependencies, which rustc compiles to an archive.
include(GNUInstallDirs)
find_program(HAPPYCITY_RUSTC rustc HINTS "$ENV{HOME}/.cargo/bin")
set(engine "${happycity_shared}/engine")
set(is_possible ON)
if(NOT HAPPYCITY_RUSTC OR NOT EXISTS "${engine}/c")
  set(is_possible OFF)
  message(STATUS "happycity: no rustc, or no ${engine}/c, so Decision::position() will throw; it takes Rust 1.63 or newer")
endif()
option(HAPPYCITY_ENGINE "Build the native engine for searches, which takes Rust" ${is_possible})
set(happycity_archive "${CMAKE_STATIC_LIBRARY_PREFIX}happycity_engine${CMAKE_STATIC_LIBRARY_SUFFIX}")

function(happycity_link_engine target)
  set(archive "${PROJECT_BINARY_DIR}/${happycity_archive}")
  set(crate "${PROJECT_BINARY_DIR}/libhappycity_engine.rlib")
  set(rustc "${HAPPYCITY_RUSTC}" --edition=2021 -Copt-level=3 -Ccodegen-units=1 -Cpanic=abort)
  file(GLOB sources CONFIGURE_DEPENDS "${engine}/src/*.rs" "${engine}/c/src/*.rs")
  add_custom_command(
    OUTPUT "${archive}"
    BYPRODUCTS "${crate}"
    COMMAND ${rustc} --crate-type=rlib --crate-name=happycity_engine -o "${crate}" "${engine}/src/lib.rs"
    COMMAND ${rustc} --crate-type=staticlib --crate-name=happycity_engine_c -Clto --extern "engine=${crate}"
            -o "${archive}" "${engine}/c/src/lib.rs"
    DEPENDS ${sources}
    COMMENT "Compiling the native engine"
    VERBATIM
  )
  add_custom_target(happycity_engine DEPENDS "${archive}")
  add_dependencies(${target} happycity_engine)
  target_compile_definitions(${target} PRIVATE HAPPYCITY_ENGINE)
  target_include_directories(${target} PRIVATE "${engine}/c")
  target_link_libraries(${target} PUBLIC
    "$<BUILD_INTERFACE:${archive}>"
    "$<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/${happycity_archive}>"
  )
endfunction()
