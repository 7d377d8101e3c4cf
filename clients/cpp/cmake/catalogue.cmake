# HAPPYCITY_CATALOGUE: the table of all cards as C++, written at build from the catalogue of the repository.
set(HAPPYCITY_CATALOGUE "${PROJECT_BINARY_DIR}/generated/catalogue_table.cpp")
add_custom_command(
  OUTPUT "${HAPPYCITY_CATALOGUE}"
  COMMAND "${CMAKE_COMMAND}" -D "CATALOGUE=${HAPPYCITY_CONFORMANCE}/catalogue.json" -D "TABLE=${HAPPYCITY_CATALOGUE}"
    -P "${PROJECT_SOURCE_DIR}/cmake/write_catalogue.cmake"
  DEPENDS "${HAPPYCITY_CONFORMANCE}/catalogue.json" "${PROJECT_SOURCE_DIR}/cmake/write_catalogue.cmake"
  COMMENT "Writing the table of cards"
  VERBATIM
)
