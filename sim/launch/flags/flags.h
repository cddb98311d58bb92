// The flag table: maps each flag, environment variable and configuration key of a serving stack to a field of
// a scenario. Rows are used to read and to write launch lines (launch_line.h); kvcap show flags prints them.
// Flags without any simulated effect have rows too, so that only a flag without a row is reported as unknown.
//
// A key of a JSON flag or of a YAML file has a name in vLLM's dotted syntax:
// --kv-transfer-config.kv_connector is the member kv_connector of --kv-transfer-config '{...}'. Members of
// list elements are named without the index.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field_spec.h"

namespace kvcap {

// The software that reads a flag. An engine's launch line may also contain flags and variables that lmcache
// and dynamo read.
enum class Stack : uint8_t { vllm, sglang, trtllm, lmcache, dynamo };
inline constexpr std::string_view kStackNames[] = {"vllm", "sglang", "trtllm", "lmcache", "dynamo"};
constexpr std::string_view name(Stack stack) { return kStackNames[static_cast<std::size_t>(stack)]; }

// Effect of a flag. sets: sets a field. none: does not affect the result. not_simulated: changes the result
// unless its value is one of FlagRow::words (the engine's default). kernels: selects kernels, graphs or host
// threads; measured step times hold for the engine's own choice, so another choice adds a note but is not
// refused. of_hybrids: changes the result of models with layers of several kinds. of_length: changes the
// result of lines without a maximum sequence length.
enum class FlagEffect : uint8_t { sets, none, not_simulated, of_hybrids, of_length, kernels };

// The syntax of a value, and its meaning in the unit of the field.
enum class FlagForm : uint8_t {
  integer,       // 8192; vLLM's 8k is 8000 and 8K is 8192
  number,        // 0.92, times FlagRow::unit
  words,         // FlagRow::words maps words to values
  present,       // no value: the flag alone sets FlagRow::words
  bytes,         // a size in units of FlagRow::unit bytes, per engine or per rank
  blocks,        // KV blocks; sets tokens
  ranks,         // divides the tensor parallel GPUs among data parallel ranks; words: on or off
  tier,          // words map the value to a tier
  host_cache,    // words: whether the stack has a DRAM tier
  storage,       // words map the value to a policy
  model,         // a name on Hugging Face or a path
  yaml_file,     // a file whose keys are flags
  text,          // a value that is not read
  texts,         // one or more values that are not read
  json,          // a JSON object; its members have rows, or are handled like the flag itself
  kv_bytes,      // KV bytes per GPU; sets tokens
  host_blocks,   // KV blocks; sets the bytes of a tier
  quantization,  // words: formats to which the engine quantises at load; others: the checkpoint's format
  batches        // [[1,64,3],[65,512,0]]: the first and last size of a batch, and its drafts per sequence
};

// The engine's value if a line does not set the flag: an integer, a number or a word of the row's form; on or
// off for flags without a value; no value if the engine derives it.
struct FlagDefault {
  DefaultValue value = {};
  std::string_view words = {};  // e.g. a condition; printed after the value
  bool is_of_server = false;    // the value is that of server_options() (engine/versions/engines.h)
};

struct FlagRow {
  Stack stack = Stack::vllm;
  // The flag's names, separated by spaces: "--tensor-parallel-size -tp". Written lines use the first name. A
  // name in capitals is an environment variable.
  std::string_view names;
  // "serving.max_num_seqs"; for a tier "policy.tiers.dram.capacity_bytes".
  std::string_view field = {};
  FlagForm form = FlagForm::text;
  // The flag's values and what they set the field to, separated by spaces: "fp8=1 auto=". A word without a
  // value does not set the field; a word that ends with * matches every word with this prefix.
  std::string_view words = {};
  double unit = 1;
  bool is_per_rank = false;       // bytes: per tensor-parallel rank
  std::string_view storage = {};  // the policy that reads the flag; empty: every policy
  // True if the flag enables a policy: the policy in `storage` or, with FlagForm::storage, the one that the
  // flag's word selects. A flag with FlagForm::storage that does not enable a policy only selects which
  // policy another flag enables.
  bool starts_storage = false;
  FlagDefault engine_default = {};  // empty, for a field of a policy: the policy's default
  std::string_view source = {};     // key of source_text()
  FlagEffect effect = FlagEffect::sets;
};
std::span<const FlagRow> flag_table();

// Returns "--tensor-parallel-size" for "--tensor_parallel_size".
std::string normal_flag(std::string_view spelling);
// Returns the rows of a flag of this engine, in any of its spellings; a flag may set several fields. A member
// without a row of its own has the row of its flag.
std::vector<const FlagRow*> find_flags(Stack engine, std::string_view spelling);
// Returns the flags that start with `spelling`; engines accept it as an abbreviation if there is only one.
std::vector<std::string_view> flags_beginning(Stack engine, std::string_view spelling);
// True iff both spellings name one flag, or the second names a member of the first.
bool is_flag_or_member(Stack engine, const std::string& flag, const std::string& other);
// Returns every spelling that a line of this engine may contain.
std::vector<std::string_view> flag_names(Stack engine);
std::string_view first_name(const FlagRow& row);
// Returns the default value of the row's flag; empty if the engine derives it.
DefaultValue default_value(const FlagRow& row);
// Returns a default as a page would print it: "1024; 256 below 70 GiB and on A100". Empty if the default is
// unknown.
std::string default_text(const FlagRow& row);

// A word and its value, parsed from "a=1 b="; a text without = is a word without a value.
struct Word {
  std::string_view word, value;
};
std::vector<Word> words_of(std::string_view words);

// Returns the file and its commit for a key of FlagRow::source.
std::string_view source_text(std::string_view key);

// Returns the rows of all stacks that set a field and belong to this policy, in the table's order.
std::vector<const FlagRow*> flags_of_policy(std::string_view policy);

}  // namespace kvcap
