# Generates CATALOGUE_CPP, a source file that embeds the catalogue, the workload tables and the scenarios in
# the binaries.
get_filename_component(CATALOGUE_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(CATALOGUE_GLOBS models/*.json models/*.jsonl hwprofiles/*.json hwprofiles/twins/*.json traces/*.json scenarios/*.json
    scenarios/measured/*.json scenarios/papers/*/*.json scenarios/studies/*.json)
list(TRANSFORM CATALOGUE_GLOBS PREPEND ${CATALOGUE_ROOT}/)
file(GLOB CATALOGUE_FILES CONFIGURE_DEPENDS RELATIVE ${CATALOGUE_ROOT} ${CATALOGUE_GLOBS})
set(CATALOGUE_PATHS ${CATALOGUE_FILES})
list(TRANSFORM CATALOGUE_PATHS PREPEND ${CATALOGUE_ROOT}/)
set(CATALOGUE_CPP ${CMAKE_CURRENT_BINARY_DIR}/catalogue_files.cpp)
add_custom_command(
  OUTPUT ${CATALOGUE_CPP}
  COMMAND ${CMAKE_COMMAND} -DOUT=${CATALOGUE_CPP} -DROOT=${CATALOGUE_ROOT} "-DFILES=${CATALOGUE_FILES}"
          -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${CATALOGUE_PATHS} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  VERBATIM)
