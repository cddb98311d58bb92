// The words of a launch line, and the engine that they start.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/flags/flags.h"

namespace kvcap {

struct LineWord {
  std::string text;
  std::string place = {};  // "a.yaml:9: spec.containers[0].args[3]" in a manifest; empty on a line
};

// Splits a line as a shell does; see shell_words().
std::vector<LineWord> line_words(std::string_view line);

// True for "TP=2".
bool is_variable(const std::string& word);
// True for "-tp" and "--max-num-seqs", but not for "-1".
bool is_flag(const std::string& word);

// Replaces bash -c 'vllm serve ...' with the words of the command.
std::vector<LineWord> without_shell(std::vector<LineWord> words);
// Removes the words after the end of the command that begins at `begin`.
void cut_command(std::vector<LineWord>& words, std::size_t begin);

struct EngineWords {
  Stack engine = Stack::vllm;
  std::size_t first_flag = 0;  // index of the first word after the program
  bool is_image = false;       // a container image starts the engine; no program is named
  std::string version = {};    // the engine's version, if the tag of a container image gives it
};
std::optional<EngineWords> find_engine(const std::vector<LineWord>& words);

}  // namespace kvcap
