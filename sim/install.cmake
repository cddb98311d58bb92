# cmake --install and CPack: the two programs, the manual page, completions and the schema of scenarios (which
# the program writes itself), and the library with its one public header for find_package(kvcap).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(shell_texts ${CMAKE_CURRENT_BINARY_DIR}/shell)
add_custom_command(
  OUTPUT ${shell_texts}/kvcap.1 ${shell_texts}/kvcap.bash ${shell_texts}/_kvcap ${shell_texts}/kvcap.fish
         ${shell_texts}/scenario.schema.json
  COMMAND ${CMAKE_COMMAND} -E make_directory ${shell_texts}
  COMMAND kvcap man > ${shell_texts}/kvcap.1
  COMMAND kvcap completion bash > ${shell_texts}/kvcap.bash
  COMMAND kvcap completion zsh > ${shell_texts}/_kvcap
  COMMAND kvcap completion fish > ${shell_texts}/kvcap.fish
  COMMAND kvcap show schema scenario > ${shell_texts}/scenario.schema.json
  DEPENDS kvcap
  VERBATIM)
add_custom_target(kvcap_shell_texts ALL DEPENDS ${shell_texts}/kvcap.1)

install(TARGETS kvcap kvcap-calibrate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${shell_texts}/kvcap.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${shell_texts}/kvcap.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME kvcap)
install(FILES ${shell_texts}/_kvcap DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${shell_texts}/kvcap.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${shell_texts}/scenario.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/kvcap)
install(DIRECTORY scenarios traces models hwprofiles DESTINATION ${CMAKE_INSTALL_DATADIR}/kvcap)
install(FILES LICENSE README.md .github/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The library is three archives; whoever links kvcap::kvcap gets all of them.
set_target_properties(kvcap_lib PROPERTIES EXPORT_NAME kvcap OUTPUT_NAME kvcap)
target_include_directories(kvcap_lib INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/kvcap>)
target_compile_features(kvcap_lib INTERFACE cxx_std_20)
install(TARGETS kvcap_lib kvcap_cost kvcap_files EXPORT kvcap ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES sim/library/kvcap.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kvcap)
install(FILES sim/base/input_error.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kvcap/base)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/kvcap)
install(EXPORT kvcap NAMESPACE kvcap:: FILE kvcapTargets.cmake DESTINATION ${config_folder})
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/kvcapConfig.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
pkg_check_modules(SIMGRID REQUIRED IMPORTED_TARGET simgrid>=3.32)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(YAMLCPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(MUPARSER REQUIRED IMPORTED_TARGET muparser)
find_dependency(fmt)
find_dependency(ZLIB)
find_dependency(SQLite3)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/kvcapTargets.cmake)
]])
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/kvcapConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvcapConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/kvcapConfigVersion.cmake
        DESTINATION ${config_folder})

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME kvcap)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Simulator and capacity planner for the state of LLM serving")
set(CPACK_PACKAGE_CONTACT "the kvcap developers")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME kvcap-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
