#include "launch/line_words.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "launch/shell_words.h"
#include "spec/engine_version.h"

namespace kvcap {
namespace {

// True for shell operators that end a command: another command or an output file follows them.
bool ends_command(const std::string& word) {
  constexpr std::string_view kEnds[] = {"&", "&&", "|", "||", ";"};
  if (std::find(std::begin(kEnds), std::end(kEnds), word) != std::end(kEnds)) return true;
  return word.starts_with('>') || word.starts_with("1>") || word.starts_with("2>") || word.starts_with("&>");
}

std::string program_of(const std::string& word) { return word.substr(word.rfind('/') + 1); }

// True for a container image whose entrypoint starts vLLM. The caller checks whether the command line names
// another program.
bool is_vllm_image(const std::string& program) {
  return program == "vllm-openai" || program.starts_with("vllm-openai:");
}

// Returns "0.11.0" for vllm/vllm-openai:v0.11.0 and lmsysorg/sglang:v0.11.0-cu126; empty for "latest" and for
// other images: the tag of lmcache/vllm-openai is a version of LMCache.
std::string version_of_image(const std::string& image) {
  const std::size_t colon = image.rfind(':', image.find('@'));
  if (colon == std::string::npos) return "";
  const std::string_view name = std::string_view(image).substr(0, colon);
  constexpr std::string_view kEngines[] = {"vllm-openai", "lmsysorg/sglang", "tensorrt-llm/release"};
  const bool is_engines = std::any_of(std::begin(kEngines), std::end(kEngines),
                                      [&](std::string_view one) { return name.ends_with(one); });
  if (!is_engines || name.find("lmcache/") != std::string_view::npos) return "";
  std::string tag = image.substr(colon + 1, image.find_first_of("-@", colon) - colon - 1);
  if (tag.starts_with('v')) tag.erase(0, 1);
  return parse_engine_version(tag) ? tag : "";
}

std::optional<Stack> stack_of_program(const std::string& word, bool serves, bool is_last) {
  const std::string program = program_of(word);
  // If more words follow and the next one is not "serve", the word may be the name of a container or the end
  // of a path.
  if (program == "vllm" && (serves || is_last)) return Stack::vllm;
  if (program == "sglang" && (serves || is_last)) return Stack::sglang;
  if (program == "trtllm-serve" || program == "tensorrt_llm.commands.serve" || program == "dynamo.trtllm") {
    return Stack::trtllm;
  }
  const bool is_script =
      word.ends_with("api_server.py") && word.find("vllm/entrypoints/") != std::string::npos;
  const bool is_module = program == "vllm.entrypoints.cli.main" ||
                         (program.starts_with("vllm.entrypoints.") && program.ends_with("_server"));
  if (is_script || is_module || program == "dynamo.vllm") return Stack::vllm;
  if (program == "sglang.launch_server" || program == "dynamo.sglang") return Stack::sglang;
  return std::nullopt;
}

}  // namespace

std::vector<LineWord> line_words(std::string_view line) {
  std::vector<LineWord> words;
  for (std::string& word : shell_words(line)) words.push_back({.text = std::move(word)});
  return words;
}

bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

bool is_flag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

std::vector<LineWord> without_shell(std::vector<LineWord> words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const std::string program = program_of(words[i].text), &option = words[i + 1].text;
    const bool is_shell =
        (program == "bash" || program == "sh") && option.starts_with('-') && option.ends_with('c');
    if (!is_shell) continue;
    std::vector<LineWord> inner = line_words(words[i + 2].text);
    for (LineWord& one : inner) one.place = words[i + 2].place;
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i);
    words.insert(words.erase(begin, begin + 3), inner.begin(), inner.end());
  }
  return words;
}

void cut_command(std::vector<LineWord>& words, std::size_t begin) {
  for (std::size_t i = begin; i < words.size(); ++i) {
    std::string& word = words[i].text;
    const bool is_last = word.size() > 1 && word.ends_with(';');
    if (is_last) word.pop_back();
    if (is_last || ends_command(word)) words.resize(is_last ? i + 1 : i);
  }
}

std::optional<EngineWords> find_engine(const std::vector<LineWord>& words) {
  std::optional<EngineWords> found;
  std::string version;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool is_last = i + 1 == words.size(), serves = !is_last && words[i + 1].text == "serve";
    const std::size_t behind = serves ? i + 2 : i + 1;
    if (version.empty()) version = version_of_image(word);
    if (const std::optional<Stack> stack = stack_of_program(word, serves, is_last)) {
      return EngineWords{.engine = *stack, .first_flag = behind, .version = version};
    }
    // docker run ... vllm/vllm-openai:latest --model MODEL
    if (!found && is_vllm_image(program_of(word))) {
      found = {.first_flag = behind, .is_image = true, .version = version};
    }
  }
  return found;
}

}  // namespace kvcap
