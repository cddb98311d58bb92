// Reads a launch line: finds the engine, and converts the line's words and the keys of its files to settings.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/json_document.h"
#include "base/text/plain_text.h"
#include "launch/flags/flag_rows.h"
#include "launch/launch_line.h"
#include "launch/line_words.h"
#include "launch/named_model.h"
#include "launch/settings.h"
#include "launch/shell_variables.h"
#include "launch/values.h"
#include "launch/yaml_file.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr std::string_view kTransfer = "--kv-transfer-config", kTrtllmFile = "--extra_llm_api_options";

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

// Connectors inside a MultiConnector are read as single connectors. LMCache's keys in a connector's
// configuration are read as its variables, except those of LMCacheMPConnector.
std::string plain_flag(std::string flag) {
  const std::string extra(kConnectorExtra);
  std::string name = normal_flag(flag);
  for (const std::string inner = extra + "connectors."; name.starts_with(inner);) {
    name = std::string(kTransfer) + "." + name.substr(inner.size());
  }
  if (name.starts_with(extra + "lmcache.mp.")) return name;
  if (name.starts_with(extra + "lmcache.")) return "LMCACHE_" + upper_case(name.substr(extra.size() + 8));
  return name.starts_with(extra) || name.starts_with(std::string(kTransfer) + ".") ? name : flag;
}

// True iff the object configures a connector that moves KV between servers, or a MultiConnector that contains
// one.
bool is_mover(const nlohmann::json& transfer) {
  const auto connector = transfer.find("kv_connector");
  if (connector == transfer.end() || !connector->is_string()) return false;
  if (moves_between_servers(connector->get<std::string>())) return true;
  const auto place = nlohmann::json::json_pointer("/kv_connector_extra_config/connectors");
  if (!transfer.contains(place) || !transfer[place].is_array()) return false;
  return std::any_of(transfer[place].begin(), transfer[place].end(),
                     [](const nlohmann::json& one) { return one.is_object() && is_mover(one); });
}

// A flag with its value.
struct Given {
  std::string flag, value;
  std::string place;        // place in a manifest, followed by ": "; empty for a launch line
  std::string shown;        // place and flag as written on the line or in the file
  bool is_negated = false;  // --no-async-scheduling
  bool is_of_file = false;
  bool is_variable = false;  // an environment variable
};

class Reader {
 public:
  Reader(LaunchLine& line, const LineInput& input) : line_(line), input_(input), ignored_(input.ignored) {}

  // Takes the variables before the program: NAME=value, docker's --env=NAME=value, and export NAME=value.
  void take_before(const LineWord& given) {
    std::string word = given.text;
    if (word.starts_with("--env-file")) note("--env-file is not read: give its variables with --env");
    if (word.starts_with("--env=")) word.erase(0, 6);
    while (word.ends_with(';')) word.pop_back();
    if (!is_variable(word)) return;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals), value = expanded(word.substr(equals + 1));
    variables_.set(name, value);
    const bool is_of_stack = !find_flags(line_.engine, name).empty();
    const std::string place = place_of(given);
    if (is_of_stack || is_engines(name)) {
      take({.flag = name, .value = value, .place = place, .shown = place + name, .is_variable = true});
    }
  }

  // Takes the flags of `lmcache server`, which are in a command before the engine's or in the connector's
  // configuration. `shown`: the place, for messages.
  void take_server(const std::vector<LineWord>& words, const std::string& shown) {
    for (std::size_t i = 0; i < words.size();) {
      Given one{.flag = words[i].text, .value = {}, .place = place_of(words[i]), .shown = {}};
      if (!one.flag.starts_with("--")) refuse_value(one.place + shown + "lmcache server", one.flag, "a flag");
      std::optional<std::string> value = split_value(one);
      one.shown = one.place + shown + one.flag;
      one.flag = std::string(kLmcacheServer) + one.flag.substr(2);
      ++i;
      const bool has_word = i < words.size() && !is_flag(words[i].text);
      if (!value && form_of(one.flag) != FlagForm::present && has_word) value = words[i++].text;
      one.value = expanded(value.value_or(""));
      take_value(one);
    }
  }

  // Takes the flag at words[i] with its value, or the model. Returns the index of the next word.
  std::size_t take_at(const std::vector<LineWord>& words, std::size_t i) {
    const std::string place = place_of(words[i]);
    Given one{.flag = words[i].text, .value = {}, .place = place, .shown = place + words[i].text};
    if (!one.flag.starts_with("-")) {
      take_positional(expanded(one.flag), place);
      return i + 1;
    }
    std::optional<std::string> value = split_value(one);
    settle_name(one);
    const FlagForm form = form_of(one.flag);
    const bool wants_value = form != FlagForm::present && !one.is_negated;
    if (value && !wants_value) {
      throw InputError("--from: " + one.shown + ": found \"" + *value + "\", allowed: no value");
    }
    ++i;
    const auto has_word = [&] { return i < words.size() && !is_flag(words[i].text); };
    if (!value && wants_value && has_word()) value = words[i++].text;
    for (; form == FlagForm::texts && has_word(); ++i) *value += " " + words[i].text;
    one.value = expanded(value.value_or(""));
    take_value(one);
    return i;
  }

  // Takes the keys of the files that the line names, except keys that the line itself sets.
  void take_files() {
    for (const Given& file : files_) {
      if (has_variable(file.value)) refuse_value(file.shown, file.value, "");
      const Stack stack = find_flags(line_.engine, file.flag).front()->stack;
      for (const YamlEntry& entry : parse_yaml(text_of(file.value), file.value)) {
        take_entry(file.value, stack, entry);
      }
    }
  }

  // Returns the settings. Settings of the line come after those of files, so that they override them. Throws
  // InputError for flags that are not simulated.
  std::vector<FlagSetting> finish() {
    refuse_conditional();
    refuse();
    for (const std::string& name : ignored_) {
      if (!used_.contains(name)) note("--ignore-flags " + name + ": the launch line does not have this flag");
    }
    std::vector<FlagSetting> all = std::move(file_settings_);
    all.insert(all.end(), settings_.begin(), settings_.end());
    return all;
  }

 private:
  void note(std::string text) { line_.notes.push_back(std::move(text)); }

  std::string expanded(const std::string& word) {
    return variables_.expanded(word, [&](const std::string& text) { note(text); });
  }

  static std::string place_of(const LineWord& word) { return word.place.empty() ? "" : word.place + ": "; }

  // Returns the text of a file that the line names: one of the manifest's ConfigMaps, or a file on disk.
  std::string text_of(const std::string& path) const {
    const auto found = input_.files.find(path.substr(path.rfind('/') + 1));
    constexpr int64_t kMaxBytes = 1 << 20;
    return found == input_.files.end() ? read_file(path, kMaxBytes) : found->second;
  }

  // True iff the name has a prefix that only engines and KV stores use.
  static bool is_engines(const std::string& name) {
    constexpr std::string_view kPrefixes[] = {"VLLM_",   "LMCACHE_", "SGLANG_", "SGL_",
                                              "TRTLLM_", "TLLM_",    "DYN_"};
    return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
  }

  // Splits "--max-num-seqs=64" into the flag and 64, and vLLM's -O3 into -O and 3.
  static std::optional<std::string> split_value(Given& one) {
    std::optional<std::string> value;
    const std::size_t equals = one.flag.find('=');
    if (equals != std::string::npos) {
      value = one.flag.substr(equals + 1);
      one.flag.resize(equals);
    } else if (one.flag.size() == 3 && one.flag.starts_with("-O")) {
      value = one.flag.substr(2);
      one.flag.resize(2);
    }
    if (one.flag.ends_with('+') && one.flag.find('.') != std::string::npos) one.flag.pop_back();
    one.shown = one.place + one.flag;
    return value;
  }

  // Resolves --no-enable-prefix-caching, and abbreviations that vLLM and SGLang accept.
  void settle_name(Given& one) const {
    one.flag = plain_flag(one.flag);
    if (!find_flags(line_.engine, one.flag).empty()) return;
    const std::string normal = normal_flag(one.flag);
    if (normal.starts_with("--no-")) {
      const std::vector<const FlagRow*> rows = find_flags(line_.engine, "--" + normal.substr(5));
      if (!rows.empty() && rows.front()->form == FlagForm::present) {
        one.flag = "--" + normal.substr(5);
        one.is_negated = true;
      }
      return;
    }
    constexpr std::size_t kMinLetters = 4;
    const bool is_long = normal.starts_with("--") && normal.size() >= 2 + kMinLetters;
    if (line_.engine == Stack::trtllm || !is_long || normal.find('.') != std::string::npos) return;
    const std::vector<std::string_view> whole = flags_beginning(line_.engine, normal);
    if (whole.size() == 1) one.flag = whole.front();
    if (whole.size() < 2) return;
    throw InputError("--from: " + one.shown + ": found the beginning of " + std::string(whole[0]) + " and " +
                     std::string(whole[1]) + ", allowed: the whole name");
  }

  FlagForm form_of(const std::string& flag) const {
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, flag);
    if (rows.empty()) return FlagForm::text;
    const bool is_switch = rows.front()->form == FlagForm::ranks && rows.front()->words.empty();
    return is_switch ? FlagForm::present : rows.front()->form;
  }

  // True iff the user asked to ignore the flag. The user may name a key of a file without the prefix that it
  // has in the table.
  bool is_ignored(const std::string& flag) {
    for (const std::string& name : ignored_) {
      const std::string spellings[] = {name, "--" + name, "-" + name, std::string(kTrtllmFile) + "." + name,
                                       "LMCACHE_" + upper_case(name)};
      const bool is_it = std::any_of(std::begin(spellings), std::end(spellings), [&](const std::string& one) {
        return is_flag_or_member(line_.engine, one, flag);
      });
      if (!is_it) continue;
      used_.insert(name);
      return true;
    }
    return false;
  }

  // Takes a flag whose value may be JSON.
  void take_value(const Given& one) {
    if (is_ignored(one.flag)) {
      line_.left_out.push_back(one.shown);
      return;
    }
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, one.flag);
    const bool is_object = !rows.empty() && rows[0]->form == FlagForm::json;
    const bool is_whole =
        is_object && is_flag_or_member(line_.engine, one.flag, std::string(first_name(*rows[0])));
    if (is_whole || (is_object && one.value.starts_with('{'))) return take_json(one, *rows[0]);
    take(one);
  }

  void take_json(const Given& one, const FlagRow& row) {
    if (one.value == "None" || one.value == "null") return;
    nlohmann::json json;
    try {
      json = read_json<nlohmann::json>(one.value);
    } catch (const JsonFault& fault) {
      if (fault.is_refused_json) throw InputError("--from: " + one.shown + ": " + fault.reason);
    }
    if (json.is_object()) return take_object(one, json);
    // In older versions of vLLM, a number sets the level.
    if (first_name(row) == "--compilation-config" && json.is_number_integer()) {
      Given level = one;
      level.flag = "--compilation-config.level";
      return take(level);
    }
    // Older versions accept --limit-mm-per-prompt image=2.
    const bool looks_like_json = one.value.starts_with('{') || one.value.starts_with('[');
    if ((row.effect != FlagEffect::none && row.effect != FlagEffect::kernels) || looks_like_json) {
      refuse_value(one.shown, one.value, "JSON (in single quotes)");
    }
    take(one);
  }

  void take_object(const Given& whole, const nlohmann::json& json) {
    const bool moves = is_mover(json);
    for (const auto& [key, value] : json.items()) {
      if (moves && key == "kv_role" && (value == "kv_producer" || value == "kv_consumer")) {
        note_role(whole, value.get<std::string>());
        continue;
      }
      Given one = whole;
      one.flag += "." + key;
      one.shown += "." + key;
      if (value.is_null()) continue;
      if (value.is_object()) {
        take_object(one, value);
      } else if (value.is_array() && !value.empty() && value.front().is_object()) {
        for (const nlohmann::json& element : value) {
          if (element.is_object()) take_object(one, element);
        }
      } else {
        one.value = value.is_string() ? value.get<std::string>() : value.dump();
        one.flag = plain_flag(one.flag);
        take(one);
      }
    }
  }

  // Adds a note that a server that only computes prompts or only decodes is simulated as one that does both.
  void note_role(const Given& transfer, const std::string& role) {
    line_.flags.push_back(
        {transfer.shown.substr(transfer.place.size()) + ".kv_role", role, {}, transfer.place});
    note(transfer.shown + ".kv_role " + role + ": this server only " +
         (role == "kv_producer" ? "computes prompts" : "decodes") +
         "; kvcap simulates it as one that does both; use fleet.disaggregation for separate servers");
  }

  void take_entry(const std::string& file, Stack stack, const YamlEntry& entry) {
    Given one{.flag = {},
              .value = {},
              .shown = file + ":" + std::to_string(entry.line) + ": " + entry.key,
              .is_of_file = true};
    one.flag = stack == Stack::lmcache  ? "LMCACHE_" + upper_case(entry.key)
               : stack == Stack::trtllm ? std::string(kTrtllmFile) + "." + entry.key
                                        : "--" + entry.key;
    if (stack != Stack::lmcache) settle_name(one);
    if (form_of(one.flag) == FlagForm::present) {
      if (!entry.is_boolean) refuse_value(one.shown, entry.values.front(), "true, false");
      one.is_negated = one.is_negated != (entry.values.front() == "false");
    } else {
      for (const std::string& value : entry.values) one.value += (one.value.empty() ? "" : " ") + value;
    }
    if (!is_overridden(one)) take_value(one);
  }

  // True iff the line sets the same flag, or the whole object of which a file's entry is a member.
  bool is_overridden(const Given& one) const {
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, one.flag);
    if (rows.empty()) return false;
    const std::string name = normal_flag(one.flag), base = name.substr(0, name.find('.'));
    return std::any_of(on_line_.begin(), on_line_.end(), [&](const std::string& flag) {
      if (find_flags(line_.engine, flag) == rows && rows.front()->form != FlagForm::json) return true;
      const std::string other = normal_flag(flag);
      return line_.engine != Stack::trtllm && base.starts_with("--") &&
             other.substr(0, other.find('.')) == base;
    });
  }

  void take(const Given& one) {
    if (one.flag == std::string(kConnectorExtra) + "lmcache.mp.autostart.server_args")
      take_server(line_words(one.value), one.shown + ": ");
    if (!one.is_of_file) on_line_.push_back(one.flag);
    if (is_ignored(one.flag)) {
      line_.left_out.push_back(one.shown);
      return;
    }
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, one.flag);
    if (rows.empty()) return take_unknown(one);
    line_.flags.push_back(
        {one.shown.substr(one.place.size()), one.is_negated ? "" : one.value, {}, one.place});
    for (const FlagRow* row : rows) {
      if (row->form == FlagForm::yaml_file) files_.push_back(one);
      if (row->effect == FlagEffect::not_simulated && changes_answer(*row, one)) refused_.push_back(one);
      if (row->effect == FlagEffect::kernels && changes_answer(*row, one)) {
        note(one.shown +
             " selects kernels, graphs or threads; kvcap uses the step times of the engine's default");
      }
      if (row->effect == FlagEffect::of_hybrids || row->effect == FlagEffect::of_length)
        conditional_.emplace_back(one, row->effect);
      if (row->effect != FlagEffect::sets || row->form == FlagForm::yaml_file) continue;
      if (has_variable(one.value)) refuse_value(one.shown, one.value, "");
      (one.is_of_file ? file_settings_ : settings_)
          .push_back({row, one.shown, one.value, one.is_negated, line_.flags.size() - 1});
    }
  }

  void take_unknown(const Given& one) {
    if (one.is_variable) {
      note(one.flag + " is not known; its effect is not simulated" +
           suggestion(one.flag, flag_names(line_.engine)));
    } else {
      unknown_.push_back(one);
    }
  }

  static bool changes_answer(const FlagRow& row, const Given& one) {
    std::string value = one.value;
    if (row.form == FlagForm::present) {
      value = one.is_negated ? "false" : "true";
      if (row.words.empty()) return !one.is_negated;
    }
    for (const Word& word : words_of(row.words)) {
      if (lower_case(word.word) == lower_case(value)) return false;
      char* end = nullptr;
      const double number = std::strtod(value.c_str(), &end);
      const bool is_number = !value.empty() && *end == 0;
      if (is_number && std::string(word.word) == number_text(number)) return false;
    }
    return true;
  }
  // Returns "1" for 1.0.
  static std::string number_text(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
  }

  void take_positional(const std::string& word, const std::string& place) {
    const bool has_model = std::any_of(settings_.begin(), settings_.end(),
                                       [](const FlagSetting& one) { return one.row->field == "model"; });
    const Given one{
        .flag = has_model ? word : "--model", .value = word, .place = place, .shown = place + "model"};
    if (!has_model) return take(one);
    if (is_ignored(word)) {
      line_.left_out.push_back(word);
    } else {
      strays_.push_back(one);
    }
  }

  // Decides whether to refuse flags whose effect depends on other flags, on the model's layers, or on whether
  // the line sets a maximum sequence length.
  void refuse_conditional() {
    const auto value_of = [&](std::string_view field) {
      std::string value;
      for (const std::vector<FlagSetting>* all : {&file_settings_, &settings_}) {
        for (const FlagSetting& one : *all) value = one.row->field == field ? one.value : value;
      }
      return value;
    };
    const auto is_number = [&](const Given& one, const std::string& wanted, int64_t more) {
      return !wanted.empty() &&
             integer_value(one.shown, one.value) == integer_value(one.shown, wanted) + more;
    };
    std::erase_if(refused_, [&](const Given& one) {
      const std::vector<const FlagRow*> rows = find_flags(line_.engine, one.flag);
      // The expected values: SGLang verifies one token more than it drafts, and all ranks are on one node.
      if (first_name(*rows[0]) == "--speculative-num-draft-tokens")
        return is_number(one, value_of("serving.speculative.draft_tokens"), 1);
      if (first_name(*rows[0]) == "--data-parallel-size-local")
        return is_number(one, value_of("serving.data_parallel_size"), 0);
      return false;
    });
    for (const auto& [one, effect] : conditional_) {
      if (one.is_negated) continue;
      if (effect == FlagEffect::of_length && value_of("serving.max_model_len").empty())
        refused_.push_back(one);
      const std::string model = value_of("model");
      if (effect == FlagEffect::of_hybrids && !model.empty() &&
          !load_model(named_model(model).name).is_uniform())
        refused_.push_back(one);
    }
  }

  // Returns the names of the refused flags as --ignore-flags accepts them, without duplicates.
  std::vector<std::string> refused_names() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& flag) {
      std::string bare = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
      const std::string file = std::string(kTrtllmFile.substr(2)) + ".";
      if (bare.starts_with(file)) bare.erase(0, file.size());
      if (std::find(names.begin(), names.end(), bare) == names.end()) names.push_back(bare);
    };
    for (const Given& one : unknown_) add(one.flag);
    for (const Given& one : strays_) add(one.value);
    for (const Given& one : refused_) add(one.flag);
    return names;
  }

  // Returns, in parentheses, the missing feature because of which the flag's parallelism is not simulated;
  // empty for other flags.
  std::string missing_part(const std::string& flag) const {
    constexpr std::string_view kOfPrompts =
        "--prefill-context-parallel-size --attention-context-parallel-size --attn-cp-size";
    constexpr std::string_view kOfStages = "--pipeline-parallel-size --pp-size --pp";
    for (const FlagRow* row : find_flags(line_.engine, flag)) {
      const auto is_in = [&](std::string_view names) {
        const std::vector<Word> words = words_of(names);
        return std::ranges::any_of(words, [&](const Word& one) { return one.word == first_name(*row); });
      };
      if (is_in(kOfPrompts)) return " (missing: dividing a prompt's queries among additional GPUs)";
      if (is_in(kOfStages)) return " (missing: separate batches for the stages)";
    }
    return "";
  }

  // Throws InputError if flags are unknown or not simulated; names only the first few of each kind.
  void refuse() const {
    std::vector<std::string> reasons, refused;
    const auto and_more = [&](std::size_t all) {
      if (all > kMaxNamed) reasons.push_back("and " + std::to_string(all - kMaxNamed) + " more");
    };
    for (const Given& one : std::span(unknown_).first(std::min(unknown_.size(), kMaxNamed))) {
      reasons.push_back(one.shown + " is not a known flag of " + std::string(kvcap::name(line_.engine)) +
                        suggestion(normal_flag(one.flag), flag_names(line_.engine)));
    }
    and_more(unknown_.size());
    for (const Given& one : std::span(strays_).first(std::min(strays_.size(), kMaxNamed)))
      reasons.push_back(one.place + "\"" + one.value + "\" does not belong to a flag");
    and_more(strays_.size());
    for (const Given& one : refused_) {
      constexpr std::size_t kShort = 40;
      const bool has_value = !one.value.empty() && one.value.size() < kShort;
      refused.push_back(one.shown + (has_value ? " " + one.value : ""));
    }
    if (refused.size() == 1) {
      reasons.push_back(refused[0] + " affects the result and is not simulated" +
                        missing_part(refused_[0].flag));
    }
    if (refused.size() > 1) {
      reasons.push_back(first_few(refused, 2 * kMaxNamed) + " affect the result and are not simulated");
    }
    if (reasons.empty()) return;
    std::string text = "--from: ", list;
    for (std::size_t i = 0; i < reasons.size(); ++i) text += (i == 0 ? "" : "; ") + reasons[i];
    const std::vector<std::string> names = refused_names();
    for (const std::string& one : std::span(names).first(std::min(names.size(), 4 * kMaxNamed)))
      list += (list.empty() ? "" : ",") + one;
    if (names.size() > 4 * kMaxNamed) list += ",...";
    throw InputError(text + "; --ignore-flags " + list + " leaves " + (names.size() == 1 ? "it" : "them") +
                     " out");
  }

  static constexpr std::size_t kMaxNamed = 3;  // how many flags of each kind an error names

  LaunchLine& line_;
  const LineInput& input_;
  const std::vector<std::string>& ignored_;
  std::set<std::string> used_;  // names of `ignored_` that were used
  ShellVariables variables_;
  std::vector<FlagSetting> settings_, file_settings_;
  std::vector<std::string> on_line_;  // flags set on the line
  std::vector<Given> files_, unknown_, refused_;
  std::vector<std::pair<Given, FlagEffect>> conditional_;
  std::vector<Given> strays_;  // words that belong to no flag
};

// Returns the flags of `lmcache server` if this command precedes the engine's command.
std::vector<LineWord> server_words(const std::vector<LineWord>& words, std::size_t begin) {
  for (std::size_t i = 0; i + 1 < begin; ++i) {
    const std::string& program = words[i].text;
    if (program.substr(program.rfind('/') + 1) != "lmcache" || words[i + 1].text != "server") continue;
    std::vector<LineWord> command(words.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                                  words.begin() + static_cast<std::ptrdiff_t>(begin));
    cut_command(command, 0);
    return command;
  }
  return {};
}

}  // namespace

LaunchLine read_launch_line(std::string_view text, const std::vector<std::string>& ignored) {
  return read_launch_words({.words = line_words(text), .ignored = ignored});
}

LaunchLine read_launch_words(const LineInput& input) {
  LaunchLine line;
  std::vector<LineWord> words = without_shell(input.words);
  const std::optional<EngineWords> engine = find_engine(words);
  if (!engine) {
    throw InputError(
        "--from: found no engine, allowed: a line with vllm serve, sglang.launch_server, sglang serve or "
        "trtllm-serve, or a manifest (FILE.yaml)");
  }
  line.engine = engine->engine;
  line.engine_version = engine->version;
  const std::size_t begin = engine->first_flag;
  Reader reader(line, input);
  for (std::size_t i = 0; i < begin; ++i) reader.take_before(words[i]);
  reader.take_server(server_words(words, begin), "");
  cut_command(words, begin);
  for (std::size_t i = begin; i < words.size();) i = reader.take_at(words, i);
  reader.take_files();
  apply_settings(reader.finish(), line);
  return line;
}

}  // namespace kvcap
