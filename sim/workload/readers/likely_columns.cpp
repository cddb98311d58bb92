#include "workload/readers/likely_columns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace kvcap {
namespace {

// Words in a column's name that suggest its field, compared without case and separators. A word that begins
// with "=" must be the whole name, any other word a part of it; earlier words take precedence. Names that
// contain a word of `never` are skipped.
struct Likely {
  std::string_view field;
  std::vector<std::string_view> words, never;
};

const std::vector<Likely>& likely_fields() {
  static const std::vector<Likely> fields = {
      {"arrival",
       {"arrival", "arrivedat", "timestamp", "starttime", "requesttime", "launchtime", "sendtime", "senttime",
        "createdat", "createdtime", "datetime", "started", "=created", "=time", "=date", "=ts"},
       {"end", "finish", "first", "latency"}},
      {"input",
       {"prompttok", "inputtok", "prefilltok", "contexttok", "requesttok", "promptlen", "inputlen",
        "promptsize", "inputsize", "contextlen", "tokensin", "numprompt", "nprompt"},
       {"cache", "text", "cost", "price", "detail", "time"}},
      {"output",
       {"completiontok", "outputtok", "generatedtok", "generationtok", "gentok", "decodetok", "responsetok",
        "answertok", "completionlen", "outputlen", "generatedlen", "responselen", "outputsize", "tokensize",
        "tokensout"},
       {"cache", "text", "cost", "price", "detail", "time", "per"}},
      {"session",
       {"sessionid", "conversationid", "chatid", "threadid", "dialogid", "dialogueid", "=session",
        "=conversation", "=chat", "=thread", "=dialog"},
       {"count", "turn"}},
      {"ttft", {"ttft", "timetofirsttoken", "firsttoken"}, {"mean", "p50", "p99"}},
      {"e2el",
       {"e2e", "endtoend", "latency", "duration", "elapsed", "totaltime"},
       {"ttft", "first", "inter", "token", "tpot", "itl", "mean", "p99"}}};
  return fields;
}

std::string letters_of(std::string_view name) {
  std::string letters;
  for (unsigned char one : name) {
    if (std::isalnum(one)) letters += static_cast<char>(std::tolower(one));
  }
  return letters;
}

bool fits(std::string_view word, const std::string& letters) {
  return word.starts_with('=') ? letters == word.substr(1) : letters.find(word) != std::string::npos;
}

// Returns the name that fits best; empty if none fits.
std::string best_of(const Likely& field, std::span<const std::string> names) {
  for (std::string_view word : field.words) {
    for (const std::string& name : names) {
      const std::string letters = letters_of(name);
      const auto forbids = [&](std::string_view never) { return letters.find(never) != std::string::npos; };
      const bool is_sayable = name.find_first_of(",=") == std::string::npos;
      if (is_sayable && fits(word, letters) && std::none_of(field.never.begin(), field.never.end(), forbids))
        return name;
    }
  }
  return "";
}

std::string name_of_user(std::span<const std::string> names) {
  const auto is_user = [](const std::string& name) {
    const std::string letters = letters_of(name);
    return letters == "user" || letters == "userid";
  };
  const auto found = std::find_if(names.begin(), names.end(), is_user);
  return found == names.end() ? "" : *found;
}

std::string listed(std::span<const std::string> names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

}  // namespace

std::string likely_columns(std::span<const std::string> names) {
  std::string text;
  for (const Likely& field : likely_fields()) {
    const std::string name = best_of(field, names);
    const bool is_required = field.field == "input" || field.field == "output";
    if (name.empty() && is_required) return "";
    if (!name.empty()) text += (text.empty() ? "" : ",") + std::string(field.field) + "=" + name;
  }
  return text;
}

InputError unknown_columns(const std::string& path, const std::string& what,
                           std::span<const std::string> names) {
  const auto has_letter = [](const std::string& name) {
    return std::any_of(name.begin(), name.end(), [](unsigned char one) { return std::isalpha(one); });
  };
  if (std::none_of(names.begin(), names.end(), has_letter)) {
    return InputError(path + ": found " + what + " " + listed(names) +
                      ", allowed: a first line that names the columns");
  }
  std::string likely = likely_columns(names);
  const bool is_known = !likely.empty();
  if (!is_known) likely = "arrival=A,input=I,output=O,session=S";
  std::string text = path + ": found " + what + " " + listed(names) +
                     ", which match no format; --columns or workload.source.columns gives their meaning, " +
                     (is_known ? "probably '" : "as '") + likely + "'";
  const std::string user = name_of_user(names);
  if (is_known && !user.empty() && likely.find("session=") == std::string::npos) {
    text += " (and session=" + user + ", if all requests of a user are one conversation)";
  }
  return InputError(text);
}

}  // namespace kvcap
