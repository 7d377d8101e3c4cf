# happycity_protocol: the classes of the messages that a bot needs, generated from the contract by the protoc that
# belongs to the installed library; those of another version would not compile.
set(generated "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${generated}")
set(messages bot cards catalogue_service game match play_service)
list(TRANSFORM messages REPLACE "(.+)" "${HAPPYCITY_PROTO}/happycity/v1/\\1.proto" OUTPUT_VARIABLE protos)
list(TRANSFORM messages REPLACE "(.+)" "${generated}/happycity/v1/\\1.pb.cc" OUTPUT_VARIABLE sources)
foreach(proto IN LISTS protos)
  if(NOT EXISTS "${proto}")
    message(FATAL_ERROR "there is no ${proto}; set HAPPYCITY_PROTO to the folder proto of the repository")
  endif()
endforeach()

# The messages of Google's in the details of a status; see the file.
set(errors "${PROJECT_SOURCE_DIR}/src/error_details.proto")
list(APPEND sources "${generated}/error_details.pb.cc")

list(TRANSFORM sources REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE headers)
add_custom_command(
  OUTPUT ${headers} ${sources}
  COMMAND protobuf::protoc --proto_path "${HAPPYCITY_PROTO}" --cpp_out "${generated}" ${protos}
  COMMAND protobuf::protoc --proto_path "${PROJECT_SOURCE_DIR}/src" --cpp_out "${generated}" "${errors}"
  DEPENDS ${protos} "${errors}"
  COMMENT "Generating the stubs"
  VERBATIM
)

add_library(happycity_protocol STATIC ${sources})
add_library(happycity::protocol ALIAS happycity_protocol)
target_compile_features(happycity_protocol PUBLIC cxx_std_20)
# Each file of protoc's defines the same static names, so a project that is compiled as one unit needs them apart.
set_target_properties(happycity_protocol PROPERTIES UNITY_BUILD OFF)
target_include_directories(happycity_protocol SYSTEM PUBLIC
  "$<BUILD_INTERFACE:${generated}>"
  "$<INSTALL_INTERFACE:include>"
)
target_link_libraries(happycity_protocol PUBLIC protobuf::libprotobuf)
