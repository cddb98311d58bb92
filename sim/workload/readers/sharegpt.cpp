// Reads ShareGPT's raw JSON: an array of {"id", "conversations": [{"from", "value"}]}, or one conversation
// per line. Files have hundreds of megabytes, so the reader handles the events of a SAX parser and keeps only
// token counts.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text/json_error.h"
#include "workload/logs/estimate.h"
#include "workload/logs/gz_file.h"
#include "workload/logs/odd_rows.h"
#include "workload/logs/rows.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

enum class Role : uint8_t { user, assistant, system };

struct Message {
  std::optional<Role> role;
  std::optional<int64_t> tokens;  // 0: an empty message
  Key text = 0;                   // hash of the message
};

struct RoleName {
  std::string_view name;
  Role role;
};
constexpr RoleName kRoles[] = {
    {"human", Role::user},        {"user", Role::user},           {"gpt", Role::assistant},
    {"chatgpt", Role::assistant}, {"bing", Role::assistant},      {"bard", Role::assistant},
    {"model", Role::assistant},   {"assistant", Role::assistant}, {"system", Role::system}};

// A conversation as turns, and the repairs that this required.
struct Cleaned {
  std::vector<Turn> turns;
  bool skipped_start = false;  // began with an answer
  bool merged = false;         // one side spoke twice in a row
  bool unanswered = false;     // ended with a question
};

Cleaned clean(const std::vector<Message>& messages) {
  Cleaned cleaned;
  std::vector<Turn>& turns = cleaned.turns;
  uint32_t system_tokens = 0;  // added to the next question
  std::optional<Role> last;
  for (const Message& message : messages) {
    const auto tokens = static_cast<uint32_t>(*message.tokens);
    if (tokens == 0) continue;
    if (message.role == Role::system) {
      system_tokens += tokens;
      continue;
    }
    if (message.role == Role::assistant && turns.empty()) {
      cleaned.skipped_start = true;
      continue;
    }
    cleaned.merged |= message.role == last;
    if (message.role == Role::assistant) {
      turns.back().output_tokens += tokens;
    } else {
      if (last != Role::user) turns.push_back({0, 0, NAN});
      turns.back().input_tokens += tokens + system_tokens;
      system_tokens = 0;
    }
    last = message.role;
  }
  if (!turns.empty() && turns.back().output_tokens == 0) {
    cleaned.unanswered = true;
    turns.pop_back();
  }
  return cleaned;
}

using TokenCounts = std::map<std::string, std::vector<uint32_t>, std::less<>>;

TokenCounts read_token_counts(const std::string& path) {
  TokenCounts counts;
  constexpr std::string_view kKeys[] = {"id", "tokens"};
  for_each_row(path, BadRow::error, [&](const Json& row, int64_t) {
    refuse_unknown_keys(row, kKeys, "");
    const Json& id = required(row, "id", "");
    if (!id.is_string()) bad_value("id", id, "a string");
    const Json& tokens = required(row, "tokens", "");
    if (!tokens.is_array()) bad_value("tokens", tokens, "an array of integers, one for each message");
    std::vector<uint32_t> list;
    for (const Json& one : tokens) {
      list.push_back(token_count(one, "tokens." + std::to_string(list.size()), 0));
    }
    // If an id were repeated, one conversation would get the counts of another.
    if (!counts.emplace(id.get<std::string>(), std::move(list)).second) bad_value("id", id, "each id once");
    return true;
  });
  return counts;
}

class Conversations : public nlohmann::json_sax<Json> {
 public:
  // `is_array`: the file is an array; false: it is a sequence of conversations.
  Conversations(const SourceOptions& options, std::optional<int64_t> most, const GzStreambuf& file,
                bool is_array)
      : options_(options),
        most_(most),
        file_(file),
        outermost_(is_array ? Place::file : Place::file_items),
        place_(outermost_) {
    odd_.enter_list("conversation ");
    if (!options.token_counts.empty()) counts_ = read_token_counts(options.token_counts);
  }

  Source finish();
  // Marks the beginning of the next document at the current line of the file.
  void begin_document() { first_line_ = file_.line_number(); }
  bool wants_more() const { return !most_ || std::ssize(source_.sessions) < *most_; }

  bool null() override { return scalar("null", nullptr); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false", nullptr); }
  bool number_integer(int64_t value) override { return scalar(std::to_string(value), nullptr); }
  bool number_unsigned(uint64_t value) override { return scalar(std::to_string(value), nullptr); }
  bool number_float(double, const std::string& text) override { return scalar(text, nullptr); }
  bool string(std::string& value) override { return scalar({}, &value); }
  bool binary(Json::binary_t&) override { return true; }
  bool key(std::string& value) override {
    if (ignored_ == 0) take_key(value);
    return true;
  }
  bool start_array(std::size_t) override { return open(Place::file, Place::conversation, "an array"); }
  bool start_object(std::size_t) override { return open(Place::file_items, Place::messages, "an object"); }
  bool end_array() override { return close(); }
  bool end_object() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    int line = 0, column = 0;
    const char* place = std::strstr(error.what(), "at line ");
    if (place && std::sscanf(place, "at line %d, column %d", &line, &column) == 2) {
      throw InputError(options_.path + ":" + std::to_string(first_line_ - 1 + line) + ":" +
                       std::to_string(column) + ": " + json_reason(error.what()));
    }
    throw InputError(options_.path + ": " + json_reason(error.what()));
  }

 private:
  // Position of the parser; each place contains the next.
  enum class Place : uint8_t { file, file_items, conversation, messages, message };

  bool is_list_key() const { return key_ == "conversations" || key_ == "items" || key_ == "messages"; }
  std::string place_of_message() const {
    return list_key_ + "." + std::to_string(messages_.size() - (place_ == Place::message ? 1 : 0));
  }
  void take_key(const std::string& key);
  bool open(Place here, Place or_here, const char* what);
  bool close();
  bool scalar(std::string shown, const std::string* text);
  void message_field(const std::string& shown, const std::string* text);
  void bad(const std::string& path, const std::string& found, const std::string& allowed);
  void bad(const std::string& reason);
  void end_message();
  bool end_conversation();
  Key content() const;
  void apply_counts();
  void refuse_too_many_tokens();

  const SourceOptions& options_;
  std::optional<int64_t> most_;
  const GzStreambuf& file_;
  std::optional<TokenCounts> counts_;
  Source source_;
  BadRows bad_rows_;
  OddRows odd_;

  int64_t first_line_ = 1;
  const Place outermost_;
  Place place_;
  int ignored_ = 0;  // depth inside an ignored value
  std::string key_, list_key_;
  std::set<std::string> conversation_keys_, message_keys_;  // keys seen in the open conversation and message
  int64_t conversation_ = 0;                                // position in the file, from 0
  std::string id_, error_;
  std::vector<Message> messages_;
  int64_t skipped_start_ = 0, merged_ = 0, unanswered_ = 0, repaired_ = 0, dropped_ = 0;
};

void Conversations::take_key(const std::string& key) {
  if (!(place_ == Place::message ? message_keys_ : conversation_keys_).insert(key).second) {
    const std::string inside = place_ == Place::message ? "." + place_of_message() : "";
    throw InputError(options_.path + ":" + std::to_string(file_.line_number()) + ": " +
                     repeated_key(std::to_string(conversation_) + inside, key));
  }
  key_ = key;
}

// Arrays open the file and the list of messages; objects open conversations and messages.
bool Conversations::open(Place here, Place or_here, const char* what) {
  if (ignored_ > 0) {
    ++ignored_;
    return true;
  }
  const bool wanted = place_ == here || place_ == or_here;
  const bool plain_key = place_ == Place::conversation && !is_list_key();
  if (wanted && !plain_key) {
    place_ = static_cast<Place>(static_cast<int>(place_) + 1);
    if (place_ == Place::conversation) {
      id_.clear();
      list_key_.clear();
      conversation_keys_.clear();
    }
    if (place_ == Place::messages) list_key_ = key_;
    if (place_ == Place::message) {
      messages_.emplace_back();
      message_keys_.clear();
    }
    return true;
  }
  scalar(what, nullptr);
  ignored_ = 1;
  return true;
}

bool Conversations::close() {
  if (ignored_ > 0) {
    --ignored_;
    return true;
  }
  const Place left = place_;
  place_ = static_cast<Place>(static_cast<int>(place_) - 1);
  if (left == Place::message) end_message();
  return left == Place::conversation ? end_conversation() : true;
}

// Handles a scalar, or a structured value where none is allowed.
bool Conversations::scalar(std::string shown, const std::string* text) {
  if (ignored_ > 0) return true;
  if (text && place_ != Place::message) shown = shown_in_row(*text);
  switch (place_) {
    case Place::file:
      throw InputError(options_.path + ": found " + shown + ", allowed: an array of conversations");
    case Place::file_items:
      bad("", shown, outermost_ == Place::file ? "an object" : "one object per line");
      return end_conversation();
    case Place::conversation:
      if (key_ == "id") id_ = text ? *text : shown;
      if (is_list_key()) bad(key_, shown, "an array");
      return true;
    case Place::messages:
      bad(place_of_message(), shown, "an object");
      return true;
    case Place::message:
      // "role" and "content" are the names in OpenAI's chat format.
      if (key_ == "from" || key_ == "role" || key_ == "value" || key_ == "content")
        message_field(shown, text);
      return true;
  }
  KVCAP_BUG("a place is not handled");
}

void Conversations::message_field(const std::string& shown, const std::string* text) {
  const std::string path = place_of_message() + "." + key_;
  if (!text) return bad(path, shown, "a string");
  if (key_ == "value" || key_ == "content") {
    messages_.back().tokens = estimate_tokens(*text);
    messages_.back().text = std::hash<std::string>()(*text);
    return;
  }
  std::string allowed;
  for (const RoleName& one : kRoles) {
    if (one.name == *text) messages_.back().role = one.role;
    allowed += (allowed.empty() ? "" : ", ") + std::string(one.name);
  }
  if (!messages_.back().role) bad(path, shown_in_row(*text), allowed);
}

void Conversations::bad(const std::string& path, const std::string& found, const std::string& allowed) {
  bad((path.empty() ? "" : "." + path) + ": found " + found + ", allowed: " + allowed);
}

// Keeps the first error of a conversation, the rest of which must still be parsed.
void Conversations::bad(const std::string& reason) {
  const std::string line = options_.path + ": " + std::to_string(conversation_) + reason;
  if (options_.on_bad_row == BadRow::error) throw InputError(line);
  if (error_.empty()) error_ = line;
}

void Conversations::end_message() {
  const Message& message = messages_.back();
  const std::string path = "." + list_key_ + "." + std::to_string(messages_.size() - 1);
  if (!error_.empty()) return;
  if (!message.role) bad(path + ".from: missing, required");
  if (!message.tokens) bad(path + ".value: missing, required");
}

void Conversations::apply_counts() {
  const auto found = counts_->find(id_);
  if (found == counts_->end()) return bad("id", shown_in_row(id_), "an id of " + options_.token_counts);
  if (found->second.size() != messages_.size()) {
    return bad(
        list_key_, std::to_string(messages_.size()) + " messages",
        std::to_string(found->second.size()) + " (tokens of this id in " + options_.token_counts + ")");
  }
  for (std::size_t i = 0; i < messages_.size(); ++i) messages_[i].tokens = found->second[i];
}

// Rejects conversations of more than kMaxTokens: a turn, which may merge several messages, has a 32-bit
// count.
void Conversations::refuse_too_many_tokens() {
  int64_t tokens = 0;
  for (const Message& message : messages_) tokens += *message.tokens;
  if (tokens > kMaxTokens)
    bad(list_key_, std::to_string(tokens) + " tokens", "at most " + std::to_string(kMaxTokens));
}

// Returns a hash of all values that are read from a conversation.
Key Conversations::content() const {
  Key key = std::hash<std::string>()(id_);
  for (const Message& message : messages_)
    key = chained(chained(key, static_cast<Key>(*message.role)), message.text);
  return key;
}

// Returns false if no more conversations are wanted.
bool Conversations::end_conversation() {
  if (error_.empty() && list_key_.empty()) bad(".conversations: missing, required");
  if (error_.empty() && counts_) apply_counts();
  if (error_.empty()) refuse_too_many_tokens();
  if (!error_.empty()) {
    if (++bad_rows_.count == 1) bad_rows_.first = error_;
  } else if (!odd_.is_repeated(content(), !id_.empty(), odd_.place(conversation_))) {
    const Cleaned cleaned = clean(messages_);
    if (cleaned.turns.empty()) {
      ++dropped_;
    } else {
      skipped_start_ += cleaned.skipped_start;
      merged_ += cleaned.merged;
      unanswered_ += cleaned.unanswered;
      repaired_ += cleaned.skipped_start || cleaned.merged || cleaned.unanswered;
      source_.add({}, cleaned.turns);
      source_.labels.push_back({id_.empty() ? std::to_string(conversation_) : Json(id_).dump(), ""});
    }
  }
  messages_.clear();
  error_.clear();
  ++conversation_;
  return wants_more();
}

Source Conversations::finish() {
  report_bad_rows(options_.path, bad_rows_, source_);
  odd_.tell(options_.path, source_);
  if (repaired_ + dropped_ > 0) {
    source_.notes.push_back("of " + std::to_string(conversation_) + " conversations " +
                            std::to_string(repaired_) + " were repaired (" + std::to_string(skipped_start_) +
                            " began with an answer, " + std::to_string(merged_) +
                            " had two messages of one side in a row, " + std::to_string(unanswered_) +
                            " ended without an answer) and " + std::to_string(dropped_) +
                            " dropped (no question with an answer)");
  }
  source_.notes.emplace_back(counts_ ? "token counts are those of " + options_.token_counts
                                     : std::string(kEstimateNote));
  return std::move(source_);
}

}  // namespace

Source read_sharegpt(const SourceOptions& options, std::optional<int64_t> most) {
  GzStreambuf buffer(options.path);
  std::istream stream(&buffer);
  constexpr int kByteOrderMark = 0xef, kByteOrderMarkBytes = 3;
  if (stream.peek() == kByteOrderMark) stream.ignore(kByteOrderMarkBytes);
  stream >> std::ws;
  const bool is_lines = stream.peek() == '{';
  Conversations conversations(options, most, buffer, !is_lines);
  if (!is_lines) {
    Json::sax_parse(stream, &conversations);
    return conversations.finish();
  }
  do {
    conversations.begin_document();
    Json::sax_parse(stream, &conversations, Json::input_format_t::json, false);
  } while (conversations.wants_more() && (stream >> std::ws) &&
           stream.peek() != std::istream::traits_type::eof());
  return conversations.finish();
}

}  // namespace kvcap
