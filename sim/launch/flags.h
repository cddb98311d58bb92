// The table of flags: what each flag, environment variable and configuration key of a serving stack sets in a
// scenario. A row reads a launch line and writes one (launch_line.h); kvcap show flags prints it. Flags that
// change nothing that is simulated are rows, too, so that only a flag that is in no row is called unknown.
//
// A key of a JSON flag or of a YAML file is named as vLLM's own dotted syntax names it:
// --kv-transfer-config.kv_connector is the member kv_connector of --kv-transfer-config '{...}'. Members of
// the elements of a list are named without the element's index.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvcap {

// Whose flag it is. lmcache and dynamo are read from environment variables beside an engine's line.
enum class Stack : uint8_t { vllm, sglang, trtllm, lmcache, dynamo };
inline constexpr std::string_view kStackNames[] = {"vllm", "sglang", "trtllm", "lmcache", "dynamo"};
constexpr std::string_view name(Stack stack) { return kStackNames[static_cast<std::size_t>(stack)]; }

// not_simulated: it changes the answer, unless its value is one of FlagRow::words (the engine's default).
// kernels: it chooses among kernels, graphs or threads of the host. Measured steps are those of the engine's
// own choice, so that another is told and no error. of_hybrids: it changes the answer for models with layers
// of several kinds; of_length: for lines that do not say the longest sequence.
enum class FlagEffect : uint8_t { sets, none, not_simulated, of_hybrids, of_length, kernels };

// How a value is written on the line, and what it means in the unit of the field.
enum class FlagForm : uint8_t {
  integer,      // 8192; vLLM's 8k is 8000 and 8K is 8192
  number,       // 0.92, times FlagRow::unit
  words,        // FlagRow::words says which word is which value
  present,      // takes no value: the flag alone sets what FlagRow::words says
  bytes,        // times FlagRow::unit, for an engine or for each of its ranks
  blocks,       // KV blocks, as tokens
  ranks,        // the GPUs of tensor parallelism are divided among data parallel ranks; words: as of present
  tier,         // words say which tier the value adds
  host_cache,   // words say whether the stack has a DRAM tier
  storage,      // words say which policy the value stands for
  model,        // a name on Hugging Face or a path
  yaml_file,    // a file whose keys are flags
  text,         // a value that is not looked at
  texts,        // one or several of them
  json,         // a JSON object; its members are rows, or like the flag itself
  kv_bytes,     // bytes of KV of each GPU, as tokens
  host_blocks,  // KV blocks, as bytes of a tier
  quantization  // words: what it quantises to while loading; else what the checkpoint has to be already
};

// What an engine takes where a line leaves a flag out. The value is an integer, a number or a word as the
// row's form takes one, and for flags without a value whether they are on; none where the engine derives it.
struct FlagDefault {
  std::variant<std::monostate, bool, int64_t, double, std::string_view> value = {};
  std::string_view words = {};  // what it depends on, printed behind the value
};

struct FlagRow {
  Stack stack = Stack::vllm;
  // Separated by spaces: "--tensor-parallel-size -tp"; the first is written back. Capitals: a variable.
  std::string_view names;
  // "serving.max_num_seqs"; of a tier "policy.tiers.dram.capacity_bytes".
  std::string_view field = {};
  FlagForm form = FlagForm::text;
  // Separated by spaces, "fp8=1 auto=": nothing behind = leaves the field alone; a word that ends with * is
  // any word that begins as it does.
  std::string_view words = {};
  double unit = 1;
  bool is_per_rank = false;       // bytes: of each tensor-parallel rank
  std::string_view storage = {};  // the policy that reads the flag; empty: every policy
  // The flag turns a policy on: `storage`, or with the form storage what `words` say. A flag of that form
  // that does not start a policy only chooses which one another flag starts.
  bool starts_storage = false;
  FlagDefault engine_default = {};  // none: what the policy's row says, of flags that set a field of it
  std::string_view source = {};     // key of source_text()
  FlagEffect effect = FlagEffect::sets;
};
std::span<const FlagRow> flag_table();

// "--tensor-parallel-size" for "--tensor_parallel_size": one spelling of dashes.
std::string normal_flag(std::string_view spelling);
// The rows of a flag on the line of this engine, in any of its spellings; a flag may set several fields. A
// member that has no row is its flag's.
std::vector<const FlagRow*> find_flags(Stack engine, std::string_view spelling);
// The flags that begin with `spelling`, which engines take for an abbreviation of the only one.
std::vector<std::string_view> flags_beginning(Stack engine, std::string_view spelling);
// Whether two spellings are one flag, or the second a member of the first.
bool is_flag_or_member(Stack engine, const std::string& flag, const std::string& other);
// Every spelling that this engine's line may hold.
std::vector<std::string_view> flag_names(Stack engine);
std::string_view first_name(const FlagRow& row);
// A default as the engine's pages print it: "1024; 256 below 70 GiB and on A100". Empty: none is known.
std::string default_text(const FlagRow& row);

// "a=1 b=" to pairs; a text without = is a word alone.
struct Word {
  std::string_view word, value;
};
std::vector<Word> words_of(std::string_view words);

// A file and its commit for a key of FlagRow::source.
std::string_view source_text(std::string_view key);

// The rows that set a field and that belong to a policy, of whatever stack, in the table's order.
std::vector<const FlagRow*> flags_of_policy(std::string_view policy);

}  // namespace kvcap
