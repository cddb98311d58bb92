// What an engine refuses at its start, and what it shortens.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/input_error.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/load.h"

namespace kvcap::startup_test {
namespace {

Scenario scenario(const std::vector<std::string>& overrides) {
  return parse_scenario(R"({"schema": "kvcap.scenario/1", "name": "start", "model": "llama-3.1-8b",
    "hardware": "l40s", "workload": {"source": {"kind": "chat"}}, "policy": "recompute"})",
                        "start.json", overrides);
}

std::string refusal(const std::vector<std::string>& overrides) {
  try {
    const Machine machine(scenario(overrides), 100, 100);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool notes_have(const std::vector<std::string>& overrides, const std::string& text) {
  const Machine machine(scenario(overrides), 100, 100);
  return std::any_of(machine.notes().begin(), machine.notes().end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(EngineStart, IsRefusedWhereNotOneSequenceOfTheAskedLengthFits) {
  // 1,000 blocks of 16 tokens.
  const std::string blocks = "serving.kv_capacity_tokens=16000";
  EXPECT_EQ(refusal({blocks, "serving.max_model_len=16000"}), "");
  EXPECT_EQ(
      refusal({blocks, "serving.max_model_len=16001"}),
      "start.json: serving.max_model_len: found 16001; vLLM does not start because no sequence of this "
      "length fits the KV cache of 16000 tokens; allowed: at most 16000, or a higher "
      "serving.gpu_memory_utilization or tensor_parallel_size; serving.allow_impossible=true simulates it "
      "anyway");
  EXPECT_EQ(refusal({blocks, "serving.max_model_len=16001", "serving.allow_impossible=true"}), "");
  // The others shorten it.
  for (const std::string engine : {"sglang", "trtllm"}) {
    EXPECT_EQ(refusal({blocks, "serving.max_model_len=16001", "serving.engine=" + engine}), "");
    EXPECT_TRUE(notes_have({blocks, "serving.max_model_len=16001", "serving.engine=" + engine},
                           "no sequence of 16001 tokens fits the KV cache; the longest that fits has 16000"));
  }
}

// 16,000 tokens of 131,072 bytes: 2.1 GB.
TEST(EngineStart, OfSglangIsRefusedWhereHicacheHoldsNoMoreThanTheGpu) {
  const auto hicache = [](const std::string& dram) {
    return R"(policy={"name": "hicache", "tiers": [{"kind": "dram", )" + dram + "}]}";
  };
  const std::vector<std::string> sglang = {"serving.engine=sglang", "serving.kv_capacity_tokens=16000"};
  const auto with = [&](const std::string& dram, std::vector<std::string> more = {}) {
    more.insert(more.begin(), sglang.begin(), sglang.end());
    more.push_back(hicache(dram));
    return refusal(more);
  };
  EXPECT_EQ(
      with("\"capacity_bytes\": 1e9"),
      "start.json: policy.tiers: dram: found 1.0 GB, which holds 7629 tokens; SGLang does not start "
      "because HiCache's host cache must hold more than the GPU's 16000 tokens; allowed: "
      "capacity_over_gpu above 1, or more than 2.1 GB; serving.allow_impossible=true simulates it anyway");
  EXPECT_NE(with("\"capacity_over_gpu\": 1"), "");
  EXPECT_EQ(with("\"capacity_over_gpu\": 1.01"), "");
  EXPECT_EQ(with("\"capacity_bytes\": 1e9", {"serving.allow_impossible=true"}), "");
  EXPECT_EQ(refusal({"serving.kv_capacity_tokens=16000", hicache("\"capacity_bytes\": 1e9")}), "") << "vLLM";
}

TEST(EngineStart, WithoutALengthTakesWhatFitsAndSaysSo) {
  const std::string blocks = "serving.kv_capacity_tokens=16000";
  EXPECT_TRUE(notes_have({blocks},
                         "no sequence of 131072 tokens fits the KV cache (vLLM starts only with "
                         "--max-model-len auto or a smaller value); the longest that fits has 16000"));
  EXPECT_FALSE(notes_have({"serving.kv_capacity_tokens=131072"}, "no sequence"));
}

TEST(EngineStart, IsRefusedWithFewerTokensAStepThanSequences) {
  EXPECT_EQ(refusal({"serving.max_num_batched_tokens=64", "serving.max_num_seqs=64"}), "");
  EXPECT_EQ(
      refusal({"serving.max_num_batched_tokens=64", "serving.max_num_seqs=65"}),
      "start.json: serving.max_num_seqs: found 65 with serving.max_num_batched_tokens 64: vLLM does not "
      "start; allowed: at most serving.max_num_batched_tokens; serving.allow_impossible=true simulates it "
      "anyway");
  // Where nobody says how many, there are as many as tokens.
  EXPECT_EQ(scenario({"serving.max_num_batched_tokens=64"}).serving.max_num_seqs, 64);
  EXPECT_EQ(scenario({}).serving.max_num_seqs, 256);
}

// An H100 reports 79.2 GiB, of which the CUDA context takes half a GiB.
TEST(EngineStart, IsRefusedIfTheShareIsMoreThanIsFree) {
  const std::vector<std::string> h100 = {"hardware=h100-sxm", "model=llama-3.1-8b",
                                         "serving.max_model_len=4096"};
  const auto with = [&](const std::string& share, std::vector<std::string> more = {}) {
    more.insert(more.begin(), h100.begin(), h100.end());
    more.push_back("serving.gpu_memory_utilization=" + share);
    return refusal(more);
  };
  EXPECT_EQ(with("0.99"), "");
  for (const char* share : {"0.995", "1"}) {
    const std::string why = with(share);
    EXPECT_NE(why.find("serving.gpu_memory_utilization: found " + std::string(share) +
                       ": vLLM does not start because 78."),
              std::string::npos)
        << why;
    EXPECT_NE(why.find("allowed: at most 0.993"), std::string::npos) << why;
  }
  EXPECT_EQ(with("1", {"serving.allow_impossible=true"}), "");
  EXPECT_EQ(with("1", {"serving.engine=sglang"}), "") << "it takes a share of what is free";
}

TEST(EngineStart, IsRefusedWhereAWholePromptIsLongerThanAStep) {
  const std::vector<std::string> whole = {"serving.chunked_prefill=false", "serving.max_model_len=4096"};
  const auto with = [&](const std::string& tokens) {
    std::vector<std::string> all = whole;
    all.push_back("serving.max_num_batched_tokens=" + tokens);
    return refusal(all);
  };
  EXPECT_EQ(with("4096"), "");
  EXPECT_EQ(
      with("4095"),
      "start.json: serving.max_num_batched_tokens: found 4095 with serving.chunked_prefill=false, where "
      "a step computes whole prompts: vLLM does not start; allowed: at least serving.max_model_len = "
      "4096; serving.allow_impossible=true simulates it anyway");
  // The others start, and refuse the prompts alone.
  for (const char* more : {"serving.engine=trtllm", "serving.allow_impossible=true"}) {
    std::vector<std::string> all = whole;
    all.insert(all.end(), {"serving.max_num_batched_tokens=4095", more});
    EXPECT_EQ(refusal(all), "") << more;
  }
}

// Blocks of 528 tokens, with whose ends steps keep states (long_prefill_token_threshold).
TEST(EngineStart, IsRefusedWhereASliceOfLimitedLengthReachesNoEndOfABlock) {
  const std::string limit = "serving.long_prefill_token_threshold=";
  EXPECT_EQ(refusal({"model=qwen3.5-4b", limit + "527"}),
            "start.json: serving.long_prefill_token_threshold: found 527, allowed: 0 (no limit), or at least "
            "528, the tokens of a block of qwen3.5-4b, where prefill slices must end "
            "(serving.recurrent_checkpoints=align)");
  EXPECT_EQ(refusal({"model=qwen3.5-4b", limit + "528"}), "");
  EXPECT_EQ(refusal({"model=qwen3.5-4b", limit + "527", "serving.recurrent_checkpoints=none"}), "");
  EXPECT_EQ(refusal({limit + "1"}), "");
}

TEST(EngineStart, SaysWhichAdaptersRequestsUse) {
  const std::string note = "every request uses a LoRA adapter of rank serving.max_lora_rank";
  EXPECT_TRUE(notes_have({"serving.enable_lora=true"}, note));
  EXPECT_FALSE(notes_have({}, note));
  // 320 MiB of 128 KiB a token; the capacity is rounded down to blocks of 16 tokens.
  const auto tokens = [](const std::vector<std::string>& overrides) {
    return Machine(scenario(overrides), 100, 100).kv_capacity_tokens();
  };
  EXPECT_NEAR(static_cast<double>(tokens({}) - tokens({"serving.enable_lora=true", "serving.max_loras=4"})),
              320 * 8, 16);
}

TEST(EngineStart, SaysThatPrioritiesAreNotUsedInOrderOfArrival) {
  const std::string priorities = R"(workload.priorities=[{"share": 1, "priority": 3}])";
  const std::vector<std::string> notes = scenario({priorities}).notes;
  EXPECT_EQ(std::count(notes.begin(), notes.end(),
                       "workload.priorities is not used: serving.scheduling_policy is \"fcfs\""),
            1);
  EXPECT_TRUE(scenario({priorities, "serving.scheduling_policy=priority"}).notes.empty());
}

TEST(EngineStart, WithoutRoomForKvNamesTheShareAndWhatTakesIt) {
  const std::string why = refusal({"model=llama-3.1-70b"});
  EXPECT_NE(why.find("model llama-3.1-70b does not fit: with serving.gpu_memory_utilization 0.92 each L40S"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("of which weights take 141."), std::string::npos) << why;
  EXPECT_NE(why.find("activations and buffers"), std::string::npos) << why;
  // A given capacity does not make room for the weights.
  EXPECT_NE(refusal({"model=llama-3.1-70b", "serving.kv_capacity_tokens=1000"}), "");
  EXPECT_EQ(
      refusal({"model=llama-3.1-70b", "serving.kv_capacity_tokens=1000", "serving.allow_impossible=true"}),
      "");
}

TEST(LongestSequence, OfLayersThatKeepAWindowIsLongerThanTheCapacitySays) {
  const Scenario windows = scenario({"model=gpt-oss-20b", "hardware=h100-sxm"});
  const Machine machine(windows, 100, 100);
  const int64_t longest = longest_sequence(windows, machine.kv_capacity_tokens());
  EXPECT_GT(longest, machine.kv_capacity_tokens());
  const KvLayout layout = kv_layout(windows);
  const auto held = [&](int64_t tokens) {
    return layout.most_blocks(tokens, windows.serving.max_num_batched_tokens,
                              windows.serving.recurrent_checkpoints);
  };
  const int64_t blocks = layout.blocks_of(machine.kv_capacity_tokens());
  EXPECT_LE(held(longest), blocks);
  EXPECT_GT(held(longest + 1), blocks);
}

}  // namespace
}  // namespace kvcap::startup_test
