# Writes OUT, the source file that embeds the pages of kvcap report, kvcap serve and kvcap whatif. Builds them
# from APP (the folder report/) in WORK, a copy, so that nothing is written into the source tree. NPM is the path
# of npm. Without NPM, or if npm fails, OUT contains the reason instead (WHY, if NPM is missing). WASM is the
# module of kvcap whatif; without it, WHATIF_WHY is the reason. A failure leaves WORK/failed, so that the next
# configuring tries again.
set(dist "")
set(why "${WHY}")
set(whatif_why "${WHATIF_WHY}")

if(NPM AND NOT EXISTS ${APP}/package-lock.json)
  set(why "the page for html was not built: there was no ${APP}")
elseif(NPM)
  file(REMOVE ${WORK}/failed)
  file(REMOVE_RECURSE ${WORK}/src ${WORK}/dist)
  file(GLOB top_files LIST_DIRECTORIES false RELATIVE ${APP} ${APP}/*)
  file(GLOB_RECURSE app_files RELATIVE ${APP} ${APP}/src/*)
  list(APPEND app_files ${top_files})
  foreach(path IN LISTS app_files)
    configure_file(${APP}/${path} ${WORK}/${path} COPYONLY)
  endforeach()

  # The installed packages are reused until the lock file changes.
  file(SHA256 ${WORK}/package-lock.json sum)
  set(installed "")
  if(EXISTS ${WORK}/installed.sum AND EXISTS ${WORK}/node_modules)
    file(READ ${WORK}/installed.sum installed)
  endif()
  set(failed 0)
  set(step "npm ci")
  if(NOT installed STREQUAL sum)
    file(REMOVE ${WORK}/installed.sum)
    execute_process(COMMAND ${NPM} ci --include=dev --no-audit --no-fund --loglevel=error WORKING_DIRECTORY ${WORK} TIMEOUT 600
                    RESULT_VARIABLE failed OUTPUT_FILE ${WORK}/npm.log ERROR_FILE ${WORK}/npm.log)
    if(failed EQUAL 0)
      file(WRITE ${WORK}/installed.sum ${sum})
    endif()
  endif()
  if(failed EQUAL 0)
    set(step "npm run build")
    execute_process(COMMAND ${CMAKE_COMMAND} -E env "KVCAP_WASM=${WASM}" ${NPM} run build WORKING_DIRECTORY ${WORK} TIMEOUT 600
                    RESULT_VARIABLE failed OUTPUT_FILE ${WORK}/npm.log ERROR_FILE ${WORK}/npm.log)
  endif()
  if(failed EQUAL 0 AND EXISTS ${WORK}/dist/page.html)
    set(dist ${WORK}/dist)
  else()
    set(why "the page for html was not built: ${step} failed as this program was built; configure and build again")
    message("-- kvcap report: no html, ${step} failed (see ${WORK}/npm.log); markdown and csv work")
    file(TOUCH ${WORK}/failed)
  endif()
endif()

# Sets `variable` to a string_view of the file in dist/, and adds the file's bytes to `bytes`.
set(bytes "")
function(embed variable file)
  set(${variable} "{}" PARENT_SCOPE)
  if(NOT dist)
    return()
  endif()
  string(MAKE_C_IDENTIFIER "kvcap_${file}" name)
  # The assembler includes the file's bytes unchanged.
  string(APPEND bytes "asm(R\"(
  .section .rodata
  .global ${name}
  .global ${name}_end
${name}:
  .incbin \"${dist}/${file}\"
${name}_end:
  .byte 0
  .previous
)\");
extern \"C\" const char ${name}[];
extern \"C\" const char ${name}_end[];
")
  set(bytes "${bytes}" PARENT_SCOPE)
  set(${variable} "{${name}, static_cast<std::size_t>(${name}_end - ${name})}" PARENT_SCOPE)
endfunction()
embed(report page.html)
embed(serve serve.html)
embed(serve_script serve.js)
embed(serve_style serve.css)
set(whatif "{}")
if(WASM)
  embed(whatif whatif.html)
endif()
if(NOT dist)
  set(whatif_why "${why}")
endif()

file(WRITE ${OUT} "#include \"base/embedded_pages.h\"

${bytes}
namespace kvcap {

EmbeddedPage embedded_report_page() { return {.html = ${report}, .missing = \"${why}\"}; }
EmbeddedPage embedded_serve_page() {
  return {.html = ${serve}, .missing = \"${why}\", .script = ${serve_script}, .style = ${serve_style}};
}
EmbeddedPage embedded_whatif_page() { return {.html = ${whatif}, .missing = \"${whatif_why}\"}; }

}  // namespace kvcap
")
