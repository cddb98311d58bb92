# Installs BUILD into a folder of its own and uses it from there: the programs, what they tell shells and
# man(1), and the library in a program that knows only the installed tree and is built with GENERATOR.
# Of this run alone: another may test the same build.
string(RANDOM LENGTH 8 run)
set(here ${BUILD}/install-test-${run})
function(must_run output)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    file(REMOVE_RECURSE ${here})
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${out}${errors}")
  endif()
  set(${output} "${out}${errors}" PARENT_SCOPE)
endfunction()

must_run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${here}/prefix)
must_run(version ${here}/prefix/bin/kvcap --version)
if(NOT version MATCHES "kvcap [0-9.]+\nrevision .+\nbuild .+\nSimGrid [0-9.]+")
  message(FATAL_ERROR "--version says: ${version}")
endif()
must_run(ignored ${here}/prefix/bin/kvcap-calibrate --version)
foreach(file share/man/man1/kvcap.1 share/bash-completion/completions/kvcap share/zsh/site-functions/_kvcap
             share/fish/vendor_completions.d/kvcap.fish share/kvcap/scenario.schema.json share/kvcap/scenarios/demo.json share/doc/kvcap/LICENSE share/doc/kvcap/NOTICE)
  if(NOT EXISTS ${here}/prefix/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
# The installed scenarios find the traces beside them.
must_run(ignored ${here}/prefix/bin/kvcap run ${here}/prefix/share/kvcap/scenarios/chat-7b.json --set workload.sessions=5)

must_run(ignored ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${here}/build -G ${GENERATOR}
         -DCMAKE_PREFIX_PATH=${here}/prefix)
must_run(ignored ${CMAKE_COMMAND} --build ${here}/build)
must_run(printed ${here}/build/embeds_kvcap)
foreach(expected "\"schema\": \"kvcap.result/1\"" "\"policy\": \"hcache\"" "did you mean \"hcache\"")
  string(FIND "${printed}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the embedding program did not print ${expected}: ${printed}")
  endif()
endforeach()
file(REMOVE_RECURSE ${here})
