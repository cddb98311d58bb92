# Sets WHATIF_WASM to the WebAssembly module of the page of kvcap whatif. If the module cannot be built, it is
# empty and WHATIF_WHY is the reason. Debian's package emscripten is enough; neither the network nor Emscripten's
# JavaScript is needed.
set(WHATIF_WASM "")
set(WHATIF_WHY "")
find_program(EMXX em++)
# Builds that only test the C++ code do not need the page.
if(NOT KVCAP_WHATIF OR NOT REPORT_NPM OR KVCAP_SANITIZE OR KVCAP_FUZZ OR KVCAP_COVERAGE)
  set(WHATIF_WHY "the page was left out of this program (KVCAP_WHATIF is off, or a build for tests)")
  return()
endif()
if(NOT EMXX)
  set(WHATIF_WHY "the page was not built: Emscripten was missing; apt-get install emscripten, then configure and build again")
  message(STATUS "kvcap whatif: no page, there is no Emscripten (apt-get install emscripten)")
  return()
endif()

set(WHATIF_WORK ${CMAKE_CURRENT_BINARY_DIR}/whatif)
set(WHATIF_SIM ${CMAKE_CURRENT_SOURCE_DIR}/sim)
# Links to the system's header-only libraries; its whole include folder would hide Emscripten's own headers.
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
find_path(NLOHMANN_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
file(MAKE_DIRECTORY ${WHATIF_WORK}/include)
file(CREATE_LINK ${FMT_INCLUDE_DIR}/fmt ${WHATIF_WORK}/include/fmt SYMBOLIC)
file(CREATE_LINK ${NLOHMANN_INCLUDE_DIR}/nlohmann ${WHATIF_WORK}/include/nlohmann SYMBOLIC)

# These files also call readers of files and eviction orders, which are left out because no question needs them.
# If one did, the page would throw.
set(WHATIF_GLOBS base/*.cpp base/text/*.cpp spec/*.cpp cost/*.cpp policy/*.cpp scenario/*.cpp scenario/checks/*.cpp
    scenario/fields/*.cpp scenario/hugging_face/*.cpp engine/versions/*.cpp engine/speculation/*.cpp
    engine/step_time.cpp run/machine.cpp run/engine_memory.cpp run/ranks.cpp run/lone_restore.cpp
    workload/sources_table.cpp workload/reused_tokens.cpp workload/workload.cpp
    workload/generators/stored_contexts.cpp launch/engine_defaults.cpp launch/values.cpp whatif/*.cpp
    whatif/wasm/*.cpp)
list(TRANSFORM WHATIF_GLOBS PREPEND ${WHATIF_SIM}/)
file(GLOB WHATIF_SOURCES CONFIGURE_DEPENDS ${WHATIF_GLOBS})
# These need an operating system.
list(FILTER WHATIF_SOURCES EXCLUDE REGEX "/base/(build_id|files|memory|outputs|text/progress)\\.cpp$")

# Of the catalogue, only the models and hardware profiles are embedded.
set(WHATIF_FILES ${CATALOGUE_FILES})
list(FILTER WHATIF_FILES INCLUDE REGEX "^(models|hwprofiles)/[^/]*$")
set(WHATIF_CATALOGUE ${WHATIF_WORK}/catalogue.cpp)
add_custom_command(
  OUTPUT ${WHATIF_CATALOGUE}
  COMMAND ${CMAKE_COMMAND} -DOUT=${WHATIF_CATALOGUE} -DROOT=${CATALOGUE_ROOT} "-DFILES=${WHATIF_FILES}"
          -P ${WHATIF_SIM}/scenario/embed.cmake
  DEPENDS ${CATALOGUE_PATHS} ${WHATIF_SIM}/scenario/embed.cmake
  VERBATIM)

set(WHATIF_FLAGS -std=c++20 -Os -fwasm-exceptions -ffp-contract=off -DNDEBUG -DFMT_HEADER_ONLY
    "-DKVCAP_VERSION=\"${PROJECT_VERSION}\"" -include ${WHATIF_SIM}/whatif/wasm/charconv.h -I${WHATIF_SIM}
    -I${WHATIF_WORK}/include)
set(WHATIF_OBJECTS "")

function(whatif_object name source)
  add_custom_command(
    OUTPUT ${WHATIF_WORK}/${name}.o
    COMMAND ${EMXX} ${WHATIF_FLAGS} -MD -MF ${WHATIF_WORK}/${name}.d -c ${source} -o ${WHATIF_WORK}/${name}.o
    DEPENDS ${source} ${ARGN}
    DEPFILE ${WHATIF_WORK}/${name}.d
    COMMENT "Building WebAssembly object ${name}"
    VERBATIM)
  list(APPEND WHATIF_OBJECTS ${WHATIF_WORK}/${name}.o)
  set(WHATIF_OBJECTS ${WHATIF_OBJECTS} PARENT_SCOPE)
endfunction()

# Up to six files of a folder are compiled together, as in unity.cmake.
set(WHATIF_UNITS "")
foreach(source IN LISTS WHATIF_SOURCES)
  cmake_path(GET source PARENT_PATH folder)
  file(RELATIVE_PATH folder ${WHATIF_SIM} ${folder})
  string(MAKE_C_IDENTIFIER ${folder} folder)
  list(APPEND ${folder}_unit ${source})
  list(LENGTH ${folder}_unit count)
  math(EXPR batch "(${count} - 1) / 6")
  set(unit ${folder}_${batch})
  string(APPEND ${unit}_text "#include \"${source}\"\n")
  list(APPEND ${unit}_sources ${source})
  list(APPEND WHATIF_UNITS ${unit})
endforeach()
list(REMOVE_DUPLICATES WHATIF_UNITS)
foreach(unit IN LISTS WHATIF_UNITS)
  file(CONFIGURE OUTPUT ${WHATIF_WORK}/${unit}.cpp CONTENT "${${unit}_text}" @ONLY)
  whatif_object(${unit} ${WHATIF_WORK}/${unit}.cpp ${${unit}_sources})
endforeach()
whatif_object(catalogue ${WHATIF_CATALOGUE})

set(WHATIF_WASM ${WHATIF_WORK}/whatif.wasm)
add_custom_command(
  OUTPUT ${WHATIF_WASM}
  COMMAND ${EMXX} -Os -fwasm-exceptions -sSTANDALONE_WASM --no-entry -sALLOW_MEMORY_GROWTH=1
          -sEXPORTED_FUNCTIONS=_malloc,_free,_kvcap_answer -sERROR_ON_UNDEFINED_SYMBOLS=0
          -sWARN_ON_UNDEFINED_SYMBOLS=0 -o ${WHATIF_WASM} ${WHATIF_OBJECTS}
  DEPENDS ${WHATIF_OBJECTS}
  COMMENT "Linking WebAssembly module whatif.wasm"
  VERBATIM)
