# happycity_protocol: the classes of all messages and services, generated from the contract by the protoc that
# belongs to the installed library; those of another version would not compile.
set(generated "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${generated}")
file(GLOB contract CONFIGURE_DEPENDS RELATIVE "${HAPPYCITY_PROTO}" "${HAPPYCITY_PROTO}/happycity/v1/*.proto")
if(NOT contract)
  message(FATAL_ERROR "${HAPPYCITY_PROTO} has no happycity/v1/*.proto; set HAPPYCITY_PROTO to the folder proto of the repository")
endif()

set(headers)
set(sources)
set(services)
foreach(proto IN LISTS contract)
  string(REGEX REPLACE "\\.proto$" "" stem "${generated}/${proto}")
  list(APPEND headers "${stem}.pb.h")
  list(APPEND sources "${stem}.pb.cc")
  if(proto MATCHES "_service\\.proto$")
    list(APPEND headers "${stem}.grpc.pb.h")
    list(APPEND services "${stem}.grpc.pb.cc")
  endif()
endforeach()
set(service_protos ${contract})
list(FILTER service_protos INCLUDE REGEX "_service\\.proto$")
list(TRANSFORM contract PREPEND "${HAPPYCITY_PROTO}/" OUTPUT_VARIABLE contract_files)

# Errors are told in messages of Google's; see the file.
set(errors "${PROJECT_SOURCE_DIR}/src/error_details.proto")
list(APPEND sources "${generated}/error_details.pb.cc")

add_custom_command(
  OUTPUT ${headers} ${sources} ${services} "${generated}/error_details.pb.h"
  COMMAND protobuf::protoc --proto_path "${HAPPYCITY_PROTO}" --cpp_out "${generated}" ${contract}
  COMMAND protobuf::protoc --proto_path "${HAPPYCITY_PROTO}" --grpc_out "${generated}"
    "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>" ${service_protos}
  COMMAND protobuf::protoc --proto_path "${PROJECT_SOURCE_DIR}/src" --cpp_out "${generated}" "${errors}"
  DEPENDS ${contract_files} "${errors}"
  COMMENT "Generating the stubs"
  VERBATIM
)

add_library(happycity_protocol STATIC ${sources} ${services})
add_library(happycity::protocol ALIAS happycity_protocol)
target_compile_features(happycity_protocol PUBLIC cxx_std_20)
target_include_directories(happycity_protocol SYSTEM PUBLIC
  "$<BUILD_INTERFACE:${generated}>"
  "$<INSTALL_INTERFACE:include>"
)
target_link_libraries(happycity_protocol PUBLIC gRPC::grpc++ protobuf::libprotobuf)
# Each of these includes all of gRPC, so together they compile as fast as one. The messages can't be compiled
# together: their files use the same names.
set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
set_target_properties(happycity_protocol PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
