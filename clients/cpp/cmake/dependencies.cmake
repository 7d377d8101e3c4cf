# What the library is built on.
find_package(Threads REQUIRED)
# Newer Protobufs bring a package of their own, which knows what else is to be linked; Debian's doesn't.
find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  find_package(Protobuf MODULE REQUIRED)
endif()
find_package(gRPC CONFIG REQUIRED)
