// --fetch against a hub on the loopback interface.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/cli.h"
#include "unit/web_server.h"

namespace kvcap::model_hub_test {
namespace {

constexpr const char* kConfig =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000,
        "max_position_embeddings": 4096, "torch_dtype": "bfloat16"})";

using Files = std::map<std::string, WebAnswer>;

// A hub with these files by their paths.
std::function<WebAnswer(const WebRequest&)> hub(Files files) {
  return [files = std::move(files)](const WebRequest& request) {
    const auto found = files.find(request.path);
    return found == files.end() ? WebAnswer{"Entry not found", 404} : found->second;
  };
}

std::vector<std::string> paths(const WebServer& server) {
  std::vector<std::string> all;
  for (const WebRequest& one : server.requests()) all.push_back(one.path);
  return all;
}

class ModelHub : public Cli {
 protected:
  ModelHub() {
    setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
    setenv("HF_HOME", path("hf").c_str(), 1);
  }
  ~ModelHub() override {
    for (const char* variable : {"XDG_CACHE_HOME", "HF_HOME", "HF_ENDPOINT", "HF_TOKEN"}) unsetenv(variable);
  }

  Outcome show(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"show", "models", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kvcap(arguments);
  }
  std::string refusal(const std::string& name, const std::vector<std::string>& more = {"--fetch"}) const {
    const Outcome outcome = show(name, more);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_FALSE(std::filesystem::exists(path("cache"))) << outcome.err;
    return outcome.err;
  }
};

TEST_F(ModelHub, GivesAModelOnceAndOnlyWhereItIsAsked) {
  const std::string folder = "/org/Tiny-1B/resolve/main/";
  const WebServer server(
      hub({{folder + "config.json", {kConfig}},
           {folder + "generation_config.json", {R"({"top_k": 20})"}},
           {folder + "model.safetensors.index.json", {R"({"metadata": {"total_size": 430000}})"}}}));
  setenv("HF_ENDPOINT", (server.address() + "/").c_str(), 1);
  const std::string unknown = refusal("org/Tiny-1B", {});
  EXPECT_NE(unknown.find("; kvcap show models org/Tiny-1B --fetch reads it from Hugging Face"),
            std::string::npos)
      << unknown;
  EXPECT_EQ(show("llama-3.1-8b", {"--fetch"}).exit_code, 0);
  EXPECT_TRUE(server.requests().empty());

  const Outcome fetched = show("org/Tiny-1B", {"--fetch", "--json"});
  ASSERT_EQ(fetched.exit_code, 0) << fetched.err;
  const std::string cached = path("cache") + "/kvcap/models/models--org--Tiny-1B/snapshots/main";
  EXPECT_EQ(fetched.err, "kvcap: fetched org/Tiny-1B from " + server.address() + " into " + cached + "\n");
  EXPECT_EQ(paths(server), (std::vector<std::string>{
                               folder + "config.json", folder + "generation_config.json",
                               folder + "hf_quant_config.json", folder + "model.safetensors.index.json"}));
  EXPECT_EQ(read_file(cached + "/config.json"), kConfig);
  EXPECT_FALSE(std::filesystem::exists(cached + "/hf_quant_config.json"));

  // From now on all commands know it without the network.
  EXPECT_EQ(show("org/Tiny-1B", {"--json"}).out, fetched.out);
  EXPECT_EQ(show("org/Tiny-1B", {"--fetch", "--json"}).out, fetched.out);
  EXPECT_EQ(server.requests().size(), 4U);
  const Outcome run = kvcap({"run", path("chat.json"), "--set", "model=org/Tiny-1B", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto model = nlohmann::json::parse(run.out)["scenario"]["model"];
  EXPECT_EQ(model["name"], "Tiny-1B");
  EXPECT_EQ(model["sampling"]["top_k"], 20);
  EXPECT_GT(model["uncounted_weight_bytes"], 0);
}

TEST_F(ModelHub, GivesTheModelOfALaunchLineAndOfARestoration) {
  const WebServer server(hub({{"/org/Tiny-1B/resolve/main/config.json", {kConfig}}}));
  setenv("HF_ENDPOINT", server.address().c_str(), 1);
  const Outcome outcome = kvcap(
      {"restore", "--model", "org/Tiny-1B", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "256", "--fetch"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::filesystem::remove_all(path("cache"));
  const Outcome line = kvcap({"run", "--from", "vllm serve org/Tiny-1B", "--gpu", "rtx-4090", "--workload",
                              "chat", "--rate", "1", "--set", "workload.sessions=5", "--fetch"});
  EXPECT_EQ(line.exit_code, 0) << line.err;
  EXPECT_EQ(server.requests().size(), 8U);
}

TEST_F(ModelHub, GetsTheTokenButNotTheServerItLeadsTo) {
  const WebServer store(hub({{"/blob", {kConfig}}}));
  const WebServer server(hub({{"/org/Tiny-1B/resolve/main/config.json", {store.address() + "/blob", 302}}}));
  setenv("HF_ENDPOINT", server.address().c_str(), 1);
  setenv("HF_TOKEN", "hf_secret\n", 1);
  ASSERT_EQ(show("org/Tiny-1B", {"--fetch"}).exit_code, 0);
  for (const WebRequest& one : server.requests()) EXPECT_EQ(one.authorization, "Bearer hf_secret");
  ASSERT_EQ(store.requests().size(), 1U);
  EXPECT_EQ(store.requests()[0].authorization, "");
}

TEST_F(ModelHub, ThatRefusesIsAnErrorThatSaysWhatToDo) {
  const WebServer server(hub({{"/meta-llama/Gated-8B/resolve/main/config.json", {"no", 401}},
                              {"/org/Broken/resolve/main/config.json", {"<html>", 200}},
                              {"/org/List/resolve/main/config.json", {"[]", 200}},
                              {"/org/Large/resolve/main/config.json", {std::string(64'000'001, ' '), 200}},
                              {"/org/Down/resolve/main/config.json", {"", 503}},
                              {"/org/Half/resolve/main/config.json", {kConfig, 200}},
                              {"/org/Half/resolve/main/generation_config.json", {"", 500}}}));
  const std::string address = server.address();
  setenv("HF_ENDPOINT", address.c_str(), 1);
  EXPECT_EQ(refusal("meta-llama/Gated-8B"),
            "kvcap: --fetch: " + address +
                " refuses to send meta-llama/Gated-8B: it is gated or private, or does "
                "not exist; set HF_TOKEN to a token that may read it\n");
  EXPECT_EQ(refusal("Qwen/Qwen3-32"),
            "kvcap: --fetch: " + address +
                " has no model Qwen/Qwen3-32 with a config.json, allowed: the name of a model on the "
                "hub; did you mean \"qwen3-32b\"?\n");
  EXPECT_NE(refusal("org/Broken").find("/org/Broken/resolve/main/config.json:1:1: "), std::string::npos);
  EXPECT_NE(refusal("org/List").find("config.json: found no JSON object"), std::string::npos);
  EXPECT_NE(refusal("org/Large").find("config.json: the answer is larger than 64 MB"), std::string::npos);
  EXPECT_NE(refusal("org/Down").find("config.json: the server answers with status 503, expected 200"),
            std::string::npos);
  // Without a file beside it, which may be there, the model would be another one.
  EXPECT_NE(refusal("org/Half").find("generation_config.json: the server answers with status 500"),
            std::string::npos);
  setenv("HF_TOKEN", "hf_secret", 1);
  EXPECT_EQ(refusal("meta-llama/Gated-8B"),
            "kvcap: --fetch: " + address +
                " refuses to send meta-llama/Gated-8B to the owner of HF_TOKEN: it is gated "
                "or private, or does not exist; ask for access at " +
                address + "/meta-llama/Gated-8B\n");
  setenv("HF_TOKEN", "a b", 1);
  EXPECT_NE(refusal("org/Half").find("HF_TOKEN: found a blank"), std::string::npos);
  unsetenv("HF_TOKEN");
  setenv("HF_ENDPOINT", "huggingface.co", 1);
  EXPECT_EQ(refusal("org/Half"),
            "kvcap: HF_ENDPOINT: found \"huggingface.co\", allowed: http://HOST[:PORT] or https://...\n");
}

TEST_F(ModelHub, IsNotAskedForWhatIsNoNameOnIt) {
  const WebServer server(hub({}));
  setenv("HF_ENDPOINT", server.address().c_str(), 1);
  for (const char* name : {"nothing", "../x", "a/../b", "/x", "x/", "a/b.json", "a/b?c", "a/.b", "a/b c"})
    EXPECT_EQ(refusal(name).find("--fetch"), std::string::npos) << name;
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace kvcap::model_hub_test
