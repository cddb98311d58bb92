// The table of flags: every row sets a field of a scenario, and every flag has one row.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "launch/flags/flags.h"
#include "policy/table.h"
#include "scenario/json.h"
#include "unit/launch_lines.h"

namespace kvcap::launch_table_test {
namespace {

using namespace launch_lines;

// Values that a row reads: each of its words, else one.
Texts values_for(const FlagRow& row) {
  switch (row.form) {
    case FlagForm::integer:
    case FlagForm::blocks:
      return {"1"};
    case FlagForm::number:
      return {row.field == "policy.tiers.dram.capacity_over_gpu" ? "2" : "0.5"};
    case FlagForm::bytes:
      return {row.unit == 1 ? "1e9" : "1"};
    case FlagForm::ranks:
      return {row.words.empty() ? "" : "true"};
    case FlagForm::words:
    case FlagForm::tier:
    case FlagForm::storage: {
      Texts values;
      for (const Word& one : words_of(row.words)) {
        if (!one.value.empty()) values.push_back(one.word == "*" ? "2" : std::string(one.word));
      }
      return values;
    }
    case FlagForm::host_cache:
      return {"true"};
    case FlagForm::model:
      return {"Qwen/Qwen3-8B"};
    case FlagForm::kv_bytes:
      return {"20GiB"};
    case FlagForm::host_blocks:
      return {"100"};
    case FlagForm::quantization:
      return {"fp8"};
    case FlagForm::batches:
      return {"'[[1,64,1],[129,256,0]]'"};
    case FlagForm::present:
    case FlagForm::yaml_file:
    case FlagForm::text:
    case FlagForm::texts:
    case FlagForm::json:
      break;
  }
  return {""};
}

// The flags without which a row's flag says nothing.
std::string flags_beside(const FlagRow& row) {
  if (first_name(row) == "--all2all-backend") return " --enable-expert-parallel -dp 2";
  if (row.field == "serving.expert_parallel" && row.stack != Stack::vllm)
    return row.stack == Stack::sglang ? " --tp 2" : " --tp_size 2";
  if (row.names == "--moe-a2a-backend") return " --tp 8 --dp 8 --enable-dp-attention";
  if (row.field == "serving.decode_context_parallel_size") return " -tp 8";
  if (row.names == "--kv-offloading-backend") return " --kv-offloading-size 1";
  if (row.field == "serving.speculative.draft_model") {
    if (row.stack == Stack::vllm) return " --speculative-config.method draft_model";
    if (row.stack == Stack::sglang) return " --speculative-algorithm STANDALONE";
    return " --extra_llm_api_options.speculative_config.decoding_type DraftTarget";
  }
  if (row.names == "--kv-transfer-config.kv_connector" || row.starts_storage) return "";
  const std::string connector = " --kv-transfer-config.kv_connector ";
  if (row.storage == "vllm_offload") return connector + "OffloadingConnector";
  if (row.storage == "lmcache") return connector + "LMCacheConnectorV1";
  if (row.storage == "lmcache_mp") return connector + "LMCacheMPConnector";
  if (row.storage == "kvbm") return connector + "DynamoConnector";
  if (row.storage == "hicache") return " --enable-hierarchical-cache";
  return "";
}

constexpr char kAcceptance[] = "serving.speculative.acceptance_length=1.5";

// Overrides for what no engine's line says, or another of its flags.
Texts overrides_beside(const FlagRow& row, const std::string& value) {
  if (row.form == FlagForm::batches) return {"serving.speculative.draft_tokens=2", kAcceptance};
  if (row.field == "serving.speculative.draft_tokens") return {kAcceptance};
  if (row.field == "serving.chunked_prefill" && value == "false") return {"serving.max_model_len=8192"};
  const bool is_model = value == "draft_model" || value == "STANDALONE" || value == "DraftTarget";
  return is_model ? Texts{"serving.speculative.draft_model=qwen3-8b"} : Texts{};
}

// A line of an engine that reads the row, with the row's flag.
std::string line_with(const FlagRow& row, const std::string& value) {
  const std::string flag(first_name(row));
  const char* program = row.stack == Stack::sglang   ? "sglang serve"
                        : row.stack == Stack::trtllm ? "trtllm-serve"
                                                     : "vllm serve";
  const bool has_states = row.field.find("recurrent.") != std::string_view::npos;
  const char* model = has_states ? " Qwen/Qwen3-Next-80B-A3B-Instruct" : " Qwen/Qwen3-30B-A3B";
  std::string line = std::string(program) + model + flags_beside(row);
  if (!flag.starts_with("-")) return flag + "=" + value + " " + line;
  return line + " " + flag + (row.form == FlagForm::present ? "" : " " + value);
}

// Whether the overrides of a line with a row's flag set the row's field.
bool sets_field(const LaunchLine& line, const FlagRow& row) {
  const std::string field(row.field);
  std::string start = field + "=", part;
  constexpr std::string_view kTiers = "policy.tiers.";
  if (field == "policy") start = "policy.name=";
  if (field.starts_with(kTiers)) {
    start = "policy.tiers=";
    part = "\"" + field.substr(field.rfind('.') + 1) + "\":";
  }
  return std::any_of(line.overrides.begin(), line.overrides.end(), [&](const std::string& one) {
    return one.starts_with(start) && one.find(part) != std::string::npos && one != "policy.name=recompute";
  });
}

TEST(FlagTable, DividesWordsFromTheirValues) {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (const Word& one : words_of("auto  fp8=1 x=a=b ")) found.emplace_back(one.word, one.value);
  EXPECT_EQ(found, (std::vector<std::pair<std::string_view, std::string_view>>{
                       {"auto", ""}, {"fp8", "1"}, {"x", "a=b"}}));
}

// vLLM then takes a step of the longest prompt, and refuses a smaller one.
TEST(WholePrompts, AreWhatALineWithoutChunkedPrefillComputes) {
  const std::string line = "vllm serve Qwen/Qwen3-8B --no-enable-chunked-prefill ";
  EXPECT_FALSE(scenario_of(line).serving.chunked_prefill);
  EXPECT_EQ(scenario_of(line).serving.max_num_batched_tokens, 40960);
  EXPECT_EQ(scenario_of(line + "--max-model-len 4096").serving.max_num_batched_tokens, 8192);
  EXPECT_TRUE(scenario_of("vllm serve Qwen/Qwen3-8B").serving.chunked_prefill);
  EXPECT_TRUE(scenario_of("trtllm-serve Qwen/Qwen3-8B --enable_chunked_prefill").serving.chunked_prefill);
}

// Gemma 4's assistants are MTP layers in a checkpoint of their own.
TEST(LaunchLine, DraftsByOneMoreLayerForHeadsThatTheCatalogueLacks) {
  const std::string line =
      "vllm serve google/gemma-4-31B-it -tp 2 --max-model-len 8192 --speculative-config "
      R"('{"model": "google/gemma-4-31B-it-assistant", "num_speculative_tokens": 4}')";
  EXPECT_TRUE(has_note(read_launch_line(line), "one additional layer of the model drafts"));
  const Scenario scenario = scenario_of(line);
  EXPECT_EQ(scenario.serving.speculative->method, DraftMethod::layers);
  EXPECT_EQ(scenario.serving.speculative->draft_tokens, 4);
  EXPECT_FALSE(scenario.serving.speculative->draft_model);
}

// Each row on a line of an engine that reads it. A field that no scenario has is refused.
TEST(FlagTable, SetsFieldsThatScenariosHave) {
  std::set<std::string_view> seen;
  for (const FlagRow& row : flag_table()) {
    if (row.effect != FlagEffect::sets || row.field.empty()) continue;
    EXPECT_FALSE(source_text(row.source).empty()) << row.names;
    for (const std::string& value : values_for(row)) {
      const std::string line = line_with(row, value);
      try {
        const LaunchLine read = read_launch_line(line);
        for (const std::string& note : read.notes) {
          EXPECT_TRUE(note.find("gives no size") != std::string::npos) << line << ": " << note;
        }
        // True is what LMCache has without the variable.
        const bool is_later = row.form == FlagForm::kv_bytes || row.form == FlagForm::host_blocks;
        EXPECT_TRUE(sets_field(read, row) || row.form == FlagForm::host_cache || is_later) << line;
        scenario_of(line, overrides_beside(row, value));
      } catch (const InputError& error) {
        ADD_FAILURE() << line << "\n" << error.what();
      }
    }
    seen.insert(row.field);
  }
  EXPECT_GT(seen.size(), 30U);
}

// A value of an integer that no engine has without the flag.
std::string unusual(const FlagRow& row) {
  if (row.form == FlagForm::blocks) return "1000";
  const std::pair<std::string_view, const char*> values[] = {
      {"parallel_size", "2"},          {"draft_tokens", "3"},   {"max_num_batched_tokens", "5000"},
      {"max_model_len", "8000"},       {"block_size", "32"},    {"max_num_seqs", "60"},
      {"max_queued_turns", "9"},       {"chunk_tokens", "512"}, {"top_k", "7"},
      {"kv_capacity_tokens", "96000"}, {"positions", "50000"},  {"embeddings", "50000"},
      {"max_lora_rank", "32"},         {"max_loras", "3"},      {"prefill_token_threshold", "900"},
      {"max_num_queued_reqs", "9"}};
  for (const auto& [end, value] : values) {
    if (row.field.ends_with(end)) return value;
  }
  return "2";
}

// The scenario with the options that its policy's name implies.
std::string whole(Scenario scenario) {
  scenario.policy = with_preset(scenario.policy);
  return write_scenario(scenario).dump();
}

// A server that is started with the emitted line is the one that was simulated.
TEST(FlagTable, HasNoFlagThatALineReadsAndItsScenarioLoses) {
  for (const FlagRow& row : flag_table()) {
    if (row.effect != FlagEffect::sets || row.field.empty()) continue;
    // Read with the machine's sizes (launched_command_test.cpp).
    if (row.form == FlagForm::kv_bytes || row.form == FlagForm::host_blocks) continue;
    const bool is_integer = row.form == FlagForm::integer || row.form == FlagForm::blocks;
    for (const std::string& value : is_integer ? Texts{unusual(row)} : values_for(row)) {
      const std::string line = line_with(row, value);
      Texts beside = overrides_beside(row, value);
      const Scenario first = scenario_of(line, beside);
      const std::string back = launch_line_of(first);
      ASSERT_FALSE(back.empty()) << line;
      if (back.find("SIZE_") != std::string::npos) continue;  // the user chooses it, as of the first line
      // Servers are the deployment's.
      beside.push_back("fleet.replicas=" + std::to_string(first.fleet.replicas));
      EXPECT_EQ(whole(scenario_of(back, beside)), whole(first)) << line << "\n" << back;
    }
  }
}

TEST(LaunchLine, NamesMtpLayersAndHeadsOfAnotherCheckpoint) {
  const auto back = [](const std::string& drafter) {
    return launch_line_of(scenario_of("vllm serve Qwen/Qwen3-8B --speculative-config '{" + drafter +
                                      R"("num_speculative_tokens":2}')"));
  };
  const std::string line = "vllm serve Qwen/Qwen3-8B --speculative-config.method ";
  const std::string tokens = " --speculative-config.num_speculative_tokens 2";
  EXPECT_EQ(back(R"("method":"mtp",)"), line + "mtp" + tokens);
  EXPECT_EQ(back(R"("method":"eagle3","model":"nobody/EAGLE3-Q",)"),
            line + "eagle" + tokens + " --speculative-config.model DRAFT_HEAD");
  EXPECT_EQ(back(R"("model":"Qwen/Qwen3-0.6B",)"),
            line + "draft_model" + tokens + " --speculative-config.model Qwen/Qwen3-0.6B");
}

TEST(LaunchLine, OfASetNameTheFormatsOfWeightsAndKv) {
  const auto line_of = [](const std::string& line, const Texts& more) {
    return launch_line_of(scenario_of(line, more));
  };
  const std::string vllm = "vllm serve Qwen/Qwen3-8B", sglang = "sglang serve Qwen/Qwen3-8B";
  EXPECT_EQ(line_of(vllm, {"model.weight_bytes_per_element=1"}), vllm + " --quantization fp8");
  EXPECT_EQ(line_of(vllm, {"model.weight_bytes_per_element=0.5"}), "") << "no flag quantises to four bits";
  EXPECT_EQ(line_of("trtllm-serve Qwen/Qwen3-8B", {"model.weight_bytes_per_element=1"}), "");
  EXPECT_EQ(line_of("vllm serve openai/gpt-oss-20b", {}).find("quantization"), std::string::npos);
  EXPECT_NE(line_of(vllm, {"model.kv_bytes_per_element=1"}).find("--kv-cache-dtype fp8"), std::string::npos);
  EXPECT_EQ(line_of(vllm, {"hardware.peer=host", "hardware.nvlink=null"}), "NCCL_P2P_DISABLE=1 " + vllm);
}

TEST(FlagTable, NamesEveryFlagOfAStackOnce) {
  for (const Stack stack : {Stack::vllm, Stack::sglang, Stack::trtllm, Stack::lmcache, Stack::dynamo}) {
    std::set<std::string> names;
    for (const FlagRow& row : flag_table()) {
      if (row.stack != stack) continue;
      for (const Word& one : words_of(row.names)) {
        const std::string name = normal_flag(one.word) + " " + std::string(row.field);
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
  }
}

TEST(FlagTable, ReadsTheNamesThatPoliciesHave) {
  std::set<std::string_view> policies(policy_names().begin(), policy_names().end());
  for (const FlagRow& row : flag_table()) {
    EXPECT_TRUE(row.storage.empty() || policies.contains(row.storage)) << row.names;
    if (row.form != FlagForm::storage) continue;
    for (const Word& one : words_of(row.words)) {
      EXPECT_TRUE(one.value.empty() || policies.contains(one.value)) << row.names << " " << one.value;
    }
  }
}

}  // namespace
}  // namespace kvcap::launch_table_test
