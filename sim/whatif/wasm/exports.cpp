// The function of the WebAssembly module that the page calls. The question and the answer are texts in the
// module's memory.
#include <cstdlib>
#include <exception>
#include <string>

#include "whatif/whatif.h"

// Returns the answer, which stays valid until the next call. The caller frees the question.
extern "C" __attribute__((export_name("kvcap_answer"))) const char* kvcap_answer(const char* question) {
  static std::string answer;
  try {
    answer = kvcap::whatif_answer(question);
  } catch (const std::exception&) {
    answer = "{\"error\": \"internal error of kvcap\"}";
  }
  return answer.c_str();
}
