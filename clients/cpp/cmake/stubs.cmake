# happycity_protocol: the classes of the messages and services that a bot needs, generated from the contract by the
# protoc that belongs to the installed library; those of another version would not compile.
set(generated "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${generated}")
set(services play_service simulation_service catalogue_service)
set(messages bot cards game match ${services})
list(TRANSFORM messages REPLACE "(.+)" "${HAPPYCITY_PROTO}/happycity/v1/\\1.proto" OUTPUT_VARIABLE protos)
list(TRANSFORM services REPLACE "(.+)" "${HAPPYCITY_PROTO}/happycity/v1/\\1.proto" OUTPUT_VARIABLE service_protos)
list(TRANSFORM messages REPLACE "(.+)" "${generated}/happycity/v1/\\1.pb.cc" OUTPUT_VARIABLE sources)
list(TRANSFORM services REPLACE "(.+)" "${generated}/happycity/v1/\\1.grpc.pb.cc" OUTPUT_VARIABLE service_sources)
foreach(proto IN LISTS protos)
  if(NOT EXISTS "${proto}")
    message(FATAL_ERROR "there is no ${proto}; set HAPPYCITY_PROTO to the folder proto of the repository")
  endif()
endforeach()

# The messages of Google's in the details of a status; see the file.
set(errors "${PROJECT_SOURCE_DIR}/src/error_details.proto")
list(APPEND sources "${generated}/error_details.pb.cc")

list(TRANSFORM sources REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE headers)
list(TRANSFORM service_sources REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE service_headers)
add_custom_command(
  OUTPUT ${headers} ${sources} ${service_headers} ${service_sources}
  COMMAND protobuf::protoc --proto_path "${HAPPYCITY_PROTO}" --cpp_out "${generated}" ${protos}
  COMMAND protobuf::protoc --proto_path "${HAPPYCITY_PROTO}" --grpc_out "${generated}"
    "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>" ${service_protos}
  COMMAND protobuf::protoc --proto_path "${PROJECT_SOURCE_DIR}/src" --cpp_out "${generated}" "${errors}"
  DEPENDS ${protos} "${errors}"
  COMMENT "Generating the stubs"
  VERBATIM
)

add_library(happycity_protocol STATIC ${sources} ${service_sources})
add_library(happycity::protocol ALIAS happycity_protocol)
target_compile_features(happycity_protocol PUBLIC cxx_std_20)
target_include_directories(happycity_protocol SYSTEM PUBLIC
  "$<BUILD_INTERFACE:${generated}>"
  "$<INSTALL_INTERFACE:include>"
)
target_link_libraries(happycity_protocol PUBLIC gRPC::grpc++ protobuf::libprotobuf)
# Each service's code includes all of gRPC, so together they compile as fast as one. The messages can't be compiled
# together: their files use the same names.
set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
set_target_properties(happycity_protocol PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
