// Reads a launch line: finds the engine, and turns words into settings.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/input_error.h"
#include "base/json_document.h"
#include "base/plain_text.h"
#include "launch/launch_line.h"
#include "launch/settings.h"
#include "launch/shell_words.h"
#include "launch/values.h"
#include "spec/engine_version.h"

namespace kvcap {
namespace {

bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char letter) {
                       return std::isupper(letter) != 0 || std::isdigit(letter) != 0 || letter == '_';
                     });
}

// "-tp" and "--max-num-seqs", but not "-1".
bool is_flag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

bool takes_value(Stack engine, const std::string& flag) {
  const std::vector<const FlagRow*> rows = find_flags(engine, flag);
  if (rows.empty()) return true;
  const bool is_switch = rows.front()->form == FlagForm::ranks && rows.front()->words.empty();
  return rows.front()->form != FlagForm::present && !is_switch;
}

// Whether rows read members of the flag's JSON value.
bool has_members(Stack engine, const std::string& flag) {
  const std::string prefix = normal_flag(flag) + ".";
  const std::vector<std::string_view> names = flag_names(engine);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return normal_flag(name).starts_with(prefix); });
}

// "0.11.0" of the image tag "v0.11.0"; empty of "latest".
std::string version_of_tag(std::string tag) {
  if (tag.starts_with('v')) tag.erase(0, 1);
  return parse_engine_version(tag) ? tag : "";
}

// Where the flags begin, and whose they are.
std::size_t find_engine(const std::vector<std::string>& words, LaunchLine& line) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string program = words[i].substr(words[i].rfind('/') + 1);
    const bool serves = i + 1 < words.size() && words[i + 1] == "serve";
    // The word alone may be a container's name or the end of a path.
    const bool is_last = i + 1 == words.size();
    if ((program == "vllm" || program == "sglang") && (serves || is_last)) {
      line.engine = program == "vllm" ? Stack::vllm : Stack::sglang;
      return serves ? i + 2 : i + 1;
    }
    if (program == "trtllm-serve") {
      line.engine = Stack::trtllm;
      return serves ? i + 2 : i + 1;
    }
    // docker run ... vllm/vllm-openai:latest --model MODEL
    const bool is_image = program == "vllm-openai" || program.starts_with("vllm-openai:");
    if (is_image || program == "vllm.entrypoints.openai.api_server" || program == "dynamo.vllm") {
      line.engine = Stack::vllm;
      if (is_image) line.engine_version = version_of_tag(program.substr(program.find(':') + 1));
      return i + 1;
    }
    if (program == "sglang.launch_server" || program == "dynamo.sglang") {
      line.engine = Stack::sglang;
      return i + 1;
    }
  }
  throw InputError(
      "--from: found no engine, allowed: a line with vllm serve, sglang.launch_server, sglang serve or "
      "trtllm-serve");
}

class Reader {
 public:
  explicit Reader(LaunchLine& line) : line_(line) {}

  // Variables before the program: the shell's, docker's --env=NAME=value, and export NAME=value;
  void take_before(std::string word) {
    if (word.starts_with("--env-file")) note("--env-file is not read: give its variables with --env");
    if (word.starts_with("--env=")) word.erase(0, 6);
    while (word.ends_with(';')) word.pop_back();
    if (!is_variable(word)) return;
    const std::size_t equals = word.find('=');
    take(word.substr(0, equals), word.substr(equals + 1));
  }

  // Takes the word at words[i] and its value. Returns the index of the next word.
  std::size_t take_at(const std::vector<std::string>& words, std::size_t i) {
    std::string flag = words[i];
    if (!flag.starts_with("-")) {
      take_positional(flag);
      return i + 1;
    }
    std::optional<std::string> value;
    const std::size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    if (take_negated(flag)) return i + 1;
    const bool wants_value = takes_value(line_.engine, flag), is_json = has_members(line_.engine, flag);
    if (value && !wants_value) {
      throw InputError("--from: " + flag + ": found \"" + *value + "\", allowed: no value");
    }
    if (!value && (is_json || wants_value) && i + 1 < words.size() && !is_flag(words[i + 1])) {
      value = words[++i];
    }
    if (!is_json || !value || !take_members(flag, *value)) take(flag, value.value_or(""));
    return i + 1;
  }

  const std::vector<Setting>& settings() const { return settings_; }

  // Many words of one kind are one note.
  void take_notes() {
    const auto add = [&](const Words& words, const char* one, const char* all) {
      if (words.names.size() > kMostNotes) {
        line_.notes.push_back(first_few(words.names) + all);
        return;
      }
      for (std::size_t i = 0; i < words.names.size(); ++i)
        line_.notes.push_back(words.names[i] + one + words.nearest[i]);
    };
    add(unknown_, " is not known and changes nothing", " are not known and change nothing");
    add(not_simulated_, " has an effect that is not simulated", " have effects that are not simulated");
    add(strays_, " belongs to no flag and changes nothing", " belong to no flag and change nothing");
  }

 private:
  static constexpr std::size_t kMostNotes = 3;  // of a kind, each on a line of its own

  struct Words {
    std::vector<std::string> names, nearest;

    void add(std::string name, std::string near = "") {
      names.push_back(std::move(name));
      nearest.push_back(std::move(near));
    }
  };

  void note(std::string text) { line_.notes.push_back(std::move(text)); }

  void take(const std::string& flag, const std::string& value) {
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, flag);
    if (rows.empty()) {
      unknown_.add(flag + (value.empty() ? "" : " " + value),
                   suggestion(normal_flag(flag), flag_names(line_.engine)));
    }
    for (const FlagRow* row : rows) {
      if (row->effect == FlagEffect::only_one && value != "1") {
        refuse_value(flag, value, "1 (pipelines and parallel contexts are not simulated)");
      }
      if (row->effect == FlagEffect::not_simulated) not_simulated_.add(flag);
      if (row->effect == FlagEffect::sets) settings_.push_back({row, flag, value});
    }
  }

  void take_positional(const std::string& word) {
    const bool has_model = std::any_of(settings_.begin(), settings_.end(),
                                       [](const Setting& one) { return one.row->field == "model"; });
    if (has_model) {
      strays_.add("\"" + word + "\"");
    } else {
      take("--model", word);
    }
  }

  // --no-enable-prefix-caching
  bool take_negated(const std::string& flag) {
    if (!flag.starts_with("--no-") || !find_flags(line_.engine, flag).empty()) return false;
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, "--" + flag.substr(5));
    if (rows.empty()) return false;
    const FlagRow& row = *rows.front();
    if (flag == "--no-enable-chunked-prefill") not_simulated_.add(flag);
    if (row.form == FlagForm::present && (row.words == "true" || row.words == "false")) {
      settings_.push_back({.row = &row, .flag = flag, .is_negated = true});
    }
    return true;
  }

  // A JSON value of a flag whose members are rows. False where the value is no JSON object.
  bool take_members(const std::string& flag, const std::string& value) {
    nlohmann::json json;
    try {
      json = read_json<nlohmann::json>(value);
    } catch (const JsonFault& fault) {
      if (fault.is_refused_json) throw InputError(flag + ": " + fault.reason);
    }
    if (!json.is_object() && value.starts_with("{")) refuse_value(flag, value, "JSON (in single quotes)");
    if (!json.is_object()) return false;
    take_object(flag, json);
    return true;
  }
  void take_object(const std::string& prefix, const nlohmann::json& json) {
    for (const auto& [key, value] : json.items()) {
      const std::string flag = prefix + "." + key;
      if (value.is_object()) {
        take_object(flag, value);
      } else if (value.is_array() && !value.empty() && value.front().is_object()) {
        for (const nlohmann::json& element : value) take_object(flag, element);
      } else {
        take(flag, value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
  }

  LaunchLine& line_;
  std::vector<Setting> settings_;
  Words unknown_, not_simulated_, strays_;
};

}  // namespace

LaunchLine read_launch_line(std::string_view text) {
  LaunchLine line;
  const std::vector<std::string> words = shell_words(text);
  const std::size_t begin = find_engine(words, line);
  Reader reader(line);
  for (std::size_t i = 0; i < begin; ++i) reader.take_before(words[i]);
  for (std::size_t i = begin; i < words.size();) i = reader.take_at(words, i);
  reader.take_notes();
  apply_settings(reader.settings(), line);
  return line;
}

}  // namespace kvcap
