// Raw ShareGPT and L-Eval files: what becomes of a conversation, and what is refused.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "unit/raw_files.h"
#include "workload/logs/estimate.h"
#include "workload/logs/gz_file.h"
#include "workload/source.h"
#include "workload/sources_table.h"

namespace kvcap::raw_readers_test {
namespace {

TEST(Estimate, AddsCharactersAndWords) {
  EXPECT_EQ(estimate_tokens(""), 0);
  EXPECT_EQ(estimate_tokens(" \n\t "), 0);
  EXPECT_EQ(estimate_tokens("a"), 1);
  // 11 characters and 2 words: 11 * 0.135 + 2 * 0.78 = 3.05.
  EXPECT_EQ(estimate_tokens("Hello world"), 3);
  // 99 characters, 20 words: 13.4 + 15.6 = 29.
  EXPECT_EQ(estimate_tokens("aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa "
                            "aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa"),
            29);
  // Characters are code points: 9 of them and 2 words are 1.2 + 1.6.
  EXPECT_EQ(estimate_tokens("\xc3\xa9t\xc3\xa9 f\xc3\xa9lin"), 3);
  // Four Chinese characters and a full stop, a token each.
  EXPECT_EQ(estimate_tokens("\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c\xe3\x80\x82"), 5);
}

class ShareGpt : public RawFiles {
 protected:
  WorkloadOptions holding(const std::string& text) {
    WorkloadOptions options;
    options.source.kind = "sharegpt";
    options.source.path = write("raw.json", text);
    return options;
  }
  std::string refusal(const std::string& text) { return error_of(holding(text)); }
};

// {"from", "value"}; a message of `words` words "aaaa".
std::string message(const std::string& role, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += i == 0 ? "aaaa" : " aaaa";
  return R"({"from":")" + role + R"(","value":")" + text + R"("})";
}
std::string conversation(const std::string& id, const std::string& messages) {
  return R"({"id":")" + id + R"(","conversations":[)" + messages + "]}";
}

TEST_F(ShareGpt, IsReadAsTurns) {
  const std::string messages = message("human", 10) + "," + message("gpt", 20) + "," + message("user", 1) +
                               "," + message("chatgpt", 2);
  const Workload workload = make_workload(holding("[" + conversation("a", messages) + "]"), 1);
  ASSERT_EQ(workload.sessions.size(), 1u);
  ASSERT_EQ(workload.turns.size(), 2u);
  // 10 words "aaaa" with 9 spaces: 49 * 0.135 + 7.8 = 14.4.
  EXPECT_EQ(workload.turns[0].input_tokens, 14u);
  EXPECT_EQ(workload.turns[0].output_tokens, 29u);
  EXPECT_EQ(workload.turns[1].input_tokens, 1u);
  EXPECT_EQ(workload.turns[1].output_tokens, 3u);
  EXPECT_TRUE(workload.sessions[0].history_grows);
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_EQ(workload.notes[0],
            "token counts are estimated: 0.135 per character + 0.78 per word (11 % rms error on L-Eval)");
}

TEST_F(ShareGpt, PassesOverKeysThatAreNotItsOwn) {
  const std::string text =
      R"([{"meta":{"conversations":[1,{"from":2}]},"items":[{"text":["x"],"value":"aaaa",)"
      R"("from":"human","markdown":null},)" +
      message("gpt", 1) + R"(],"model":"x","tags":[[]]}])";
  EXPECT_EQ(make_workload(holding(text), 1).turns.size(), 1u);
}

TEST_F(ShareGpt, MayBeAConversationALine) {
  const std::string one = conversation("a", message("human", 1) + "," + message("gpt", 10));
  const std::string other = conversation("b", message("human", 10) + "," + message("gpt", 1));
  const Workload workload = make_workload(holding("\xef\xbb\xbf" + one + "\n\n" + other + "\n"), 1);
  ASSERT_EQ(workload.sessions.size(), 2u);
  EXPECT_EQ(workload.turns[0].output_tokens, 14u);
  EXPECT_EQ(workload.turns[1].input_tokens, 14u);
  WorkloadOptions options = holding(one + "\n" + other + "\n");
  options.sessions = 1;
  EXPECT_EQ(make_workload(options, 1).sessions.size(), 1u);
  EXPECT_EQ(error_of(holding(one + "\n" + R"({"id":"c"})" + "\n")),
            "raw.json: 1.conversations: missing, required");
  EXPECT_EQ(error_of(holding(one + "\n[7]\n")), "raw.json: 1: found an array, allowed: one object per line");
  EXPECT_EQ(error_of(holding(one + "\n{\"id\":\n")).substr(0, 11), "raw.json:3:");
}

// OpenAI's names of the same.
TEST_F(ShareGpt, MayHaveMessagesOfRolesWithContent) {
  const Workload workload =
      make_workload(holding(R"({"id":"a","messages":[{"role":"system","content":"aaaaaaaaaa"},)"
                            R"({"role":"user","content":"aaaaaaaaaa"},{"role":"assistant","content":"a"}]})"),
                    1);
  ASSERT_EQ(workload.turns.size(), 1u);
  EXPECT_EQ(workload.turns[0].input_tokens, 2u + 2u);
}

TEST_F(ShareGpt, RepairsWhatIsNoExchangeAndCountsIt) {
  const std::string text =
      "[" + conversation("starts", message("gpt", 9) + "," + message("human", 1) + "," + message("gpt", 1)) +
      "," +
      conversation("twice", message("human", 1) + "," + message("human", 10) + "," + message("gpt", 1) + "," +
                                message("gpt", 10)) +
      "," + conversation("open", message("human", 1) + "," + message("bard", 1) + "," + message("human", 5)) +
      "," +
      conversation("system", message("system", 10) + "," + message("human", 10) + "," + message("bing", 1)) +
      "," + conversation("silent", message("human", 1) + "," + message("gpt", 0)) + "," +
      conversation("empty", "") + "]";
  const Workload workload = make_workload(holding(text), 1);
  ASSERT_EQ(workload.sessions.size(), 4u);
  ASSERT_EQ(workload.turns.size(), 4u);
  EXPECT_EQ(workload.turns[0].input_tokens, 1u);
  EXPECT_EQ(workload.turns[1].input_tokens, 1u + 14u);
  EXPECT_EQ(workload.turns[1].output_tokens, 1u + 14u);
  EXPECT_EQ(workload.turns[2].output_tokens, 1u);
  EXPECT_EQ(workload.turns[3].input_tokens, 14u + 14u);
  EXPECT_EQ(workload.notes[0],
            "of 6 conversations 3 were repaired (1 began with an answer, 1 had two messages of one side in "
            "a row, 1 ended without an answer) and 2 dropped (no question with an answer)");
}

TEST_F(ShareGpt, TakesExactCountsWhereTheyAreGiven) {
  WorkloadOptions options = holding(
      "[" + conversation("a", message("human", 1) + "," + message("gpt", 1) + "," + message("gpt", 1)) + "]");
  options.source.token_counts = write("counts.jsonl", R"({"id":"a","tokens":[70,80,9]})");
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.turns[0].input_tokens, 70u);
  EXPECT_EQ(workload.turns[0].output_tokens, 89u);
  EXPECT_EQ(without_folder(workload.notes[1]), "token counts are those of counts.jsonl");

  const std::pair<std::string, std::string> cases[] = {
      {R"({"id":"b","tokens":[1]})", R"(raw.json: 0.id: found "a", allowed: an id of counts.jsonl)"},
      {R"({"id":"a","tokens":[1]})",
       "raw.json: 0.conversations: found 3 messages, allowed: 1 (tokens of this id in counts.jsonl)"},
      {R"({"id":"a","tokens":[-1]})",
       "counts.jsonl:1: tokens.0: found -1, allowed: an integer from 0 to 10000000"},
      {"{\"id\":\"a\",\"tokens\":[]}\n{\"id\":\"a\",\"tokens\":[]}",
       R"(counts.jsonl:2: id: found "a", allowed: each id once)"},
      {R"({"id":"a","token":[1]})", R"(counts.jsonl:1: token: unknown key; did you mean "tokens"?)"},
  };
  for (const auto& [text, expected] : cases) {
    write("counts.jsonl", text);
    EXPECT_EQ(error_of(options), expected);
  }
}

TEST_F(ShareGpt, IsRefusedWithPlaceAndReason) {
  const std::string good = conversation("a", message("human", 1) + "," + message("gpt", 1));
  const std::string roles = "human, user, gpt, chatgpt, bing, bard, model, assistant, system";
  const std::pair<std::string, std::string> cases[] = {
      {"",
       "raw.json:1:1: syntax error while parsing value - unexpected end of input; expected '[', '{', or "
       "a literal"},
      {"[" + good + ",\n{]",
       "raw.json:2:2: syntax error while parsing object key - unexpected ']'; expected string literal"},
      {"[1e999]", "raw.json: number overflow parsing '1e999'"},
      {"{}", "raw.json: 0.conversations: missing, required"},
      {"7", "raw.json: found 7, allowed: an array of conversations"},
      {"[]", "raw.json: contains no sessions"},
      {"[" + good + ",7]", "raw.json: 1: found 7, allowed: an object"},
      {"[[]]", "raw.json: 0: found an array, allowed: an object"},
      {"[{}]", "raw.json: 0.conversations: missing, required"},
      {R"([{"conversations":null}])", "raw.json: 0.conversations: found null, allowed: an array"},
      {R"([{"items":{}}])", "raw.json: 0.items: found an object, allowed: an array"},
      {R"([{"conversations":["hi"]}])", R"(raw.json: 0.conversations.0: found "hi", allowed: an object)"},
      {R"([{"conversations":[{"from":"human"}]}])", "raw.json: 0.conversations.0.value: missing, required"},
      {R"([{"conversations":[{"value":"x"}]}])", "raw.json: 0.conversations.0.from: missing, required"},
      {"[" + good + "," + conversation("b", message("human", 1) + "," + message("robot", 1)) + "]",
       R"(raw.json: 1.conversations.1.from: found "robot", allowed: )" + roles},
      {R"([{"conversations":[{"from":"human","value":[1]}]}])",
       "raw.json: 0.conversations.0.value: found an array, allowed: a string"},
      {"[" + conversation("b", message("human", 1)) + "]", "raw.json: contains no sessions"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(refusal(text), expected) << text;

  WorkloadOptions options = holding("");
  options.source.path = (folder_ / "absent.json").string();
  EXPECT_EQ(error_of(options), "absent.json: cannot be read: No such file or directory");
}

TEST_F(ShareGpt, MayHaveBadConversationsSkippedAndCounted) {
  const std::string good = conversation("a", message("human", 1) + "," + message("gpt", 1));
  const std::string other = conversation("b", message("human", 1) + "," + message("gpt", 1));
  WorkloadOptions options =
      holding("[7," + good + R"(,{"conversations":[{"from":"x","value":[[1],{}]},3]},)" + other + "]");
  options.source.on_bad_row = BadRow::skip;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.sessions.size(), 2u);
  EXPECT_EQ(workload.bad_rows_skipped, 2);
  EXPECT_EQ(without_folder(workload.notes[0]),
            "2 bad rows skipped; the first: raw.json: 0: found 7, allowed: an object");
}

TEST_F(ShareGpt, StopsWhenItHasEnough) {
  const std::string good = conversation("a", message("human", 1) + "," + message("gpt", 1));
  const std::string other = conversation("b", message("human", 1) + "," + message("gpt", 1));
  WorkloadOptions options = holding("[" + good + "," + other + ",{{{ no JSON");
  options.sessions = 2;
  EXPECT_EQ(make_workload(options, 1).sessions.size(), 2u);
}

TEST_F(ShareGpt, IsReadWithoutBeingHeldInMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer holds freed memory back";
#endif
  // 90 MB when unpacked, as 100 gzip members of 40 conversations each.
  std::string file = gzip("[");
  for (int member = 0; member < 100; ++member) {
    std::string some;
    for (int i = 0; i < 40; ++i) {
      const std::string id = std::to_string(member) + "-" + std::to_string(i);
      some += conversation(id, message("human", 500) + "," + message("gpt", 4000)) + ",";
    }
    file += gzip(some);
  }
  file += gzip(conversation("z", message("human", 1) + "," + message("gpt", 1)) + "]");
  WorkloadOptions options;
  options.source.kind = "sharegpt";
  options.source.path = write("raw.json.gz", file);
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before = peak_kib();
  EXPECT_EQ(make_workload(options, 1).sessions.size(), 4001u);
  EXPECT_LT(peak_kib() - before, 10 * 1024);
}

class Leval : public RawFiles {
 protected:
  WorkloadOptions holding(const std::string& text) {
    WorkloadOptions options;
    options.source.kind = "leval";
    options.source.path = write("tpo.jsonl", text);
    return options;
  }
};

TEST_F(Leval, AsksEveryQuestionOnTheBareDocument) {
  const Workload workload = make_workload(
      holding(
          R"({"instructions":["aaaa aaaa","aaaa"],"outputs":["","Hello world"],"input":"aaaa aaaa aaaa","source":"x"})"),
      1);
  ASSERT_EQ(workload.sessions.size(), 1u);
  ASSERT_EQ(workload.turns.size(), 2u);
  EXPECT_EQ(workload.sessions[0].context_tokens, 4u);  // 14 * 0.135 + 3 * 0.78 = 4.2
  EXPECT_FALSE(workload.sessions[0].history_grows);
  EXPECT_EQ(workload.turns[0].input_tokens, 3u);
  EXPECT_EQ(workload.turns[0].output_tokens, 1u);
  EXPECT_EQ(workload.turns[1].output_tokens, 3u);
  EXPECT_DOUBLE_EQ(workload.mean_history_tokens(), 4);
}

TEST_F(Leval, NamesItsSessionsAfterTheTaskAndTheLine) {
  const std::string document = R"({"instructions":["a"],"outputs":["b"],"input":"x"})";
  const Source source =
      open_source(holding(document + "\n" + R"({"instructions":["c"],"outputs":["d"],"input":"y"})"), 1);
  ASSERT_EQ(source.labels.size(), 2u);
  EXPECT_EQ(source.labels[1].id, R"("tpo-2")");
  EXPECT_EQ(source.labels[1].task, "tpo");
}

TEST_F(Leval, IsRefusedWithPlaceAndReason) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"instructions":["a"],"outputs":["b"]})", "tpo.jsonl:1: input: missing, required"},
      {R"({"input":7,"instructions":["a"],"outputs":["b"]})",
       "tpo.jsonl:1: input: found 7, allowed: a string"},
      {R"({"input":" ","instructions":["a"],"outputs":["b"]})",
       R"(tpo.jsonl:1: input: found " ", allowed: a text)"},
      {R"({"input":"x","instructions":[],"outputs":[]})",
       "tpo.jsonl:1: instructions: found an empty array, allowed: an array with at least one string"},
      {R"({"input":"x","instructions":["a","b"],"outputs":["b"]})",
       "tpo.jsonl:1: outputs: found 1 answers, allowed: 2, one for each of the instructions"},
      {R"({"input":"x","instructions":["a"],"outputs":[3]})",
       "tpo.jsonl:1: outputs.0: found 3, allowed: a string"},
      {"", "tpo.jsonl: contains no sessions"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(error_of(holding(text)), expected) << text;
}

class Guess : public RawFiles {};

TEST_F(Guess, LooksAtHowTheFileBegins) {
  EXPECT_EQ(guess_source(write("a", "\n [{\"id\": 1, \"conversations\": [")).name, "sharegpt");
  EXPECT_EQ(guess_source(write("a", "{ \"instructions\": [")).name, "leval");
  EXPECT_EQ(guess_source(write("a", R"({"id":"x","turns":[]})")).name, "sessions");
  EXPECT_EQ(guess_source(write("a", "")).name, "sessions");
  EXPECT_EQ(guess_source(write("a", gzip("[]"))).name, "sharegpt");
  EXPECT_EQ(guess_source(write("a", R"({"timestamp": 0, "input_length": 5)")).name, "mooncake");
  EXPECT_EQ(guess_source(write("a", gzip("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"))).name, "azure");
  EXPECT_EQ(guess_source(write("a", "Timestamp,Model,Request tokens,Response tokens\n")).name, "burstgpt");
  EXPECT_EQ(guess_source(write("a", "request_id,arrival_s,input_tokens,output_tokens\n")).name, "vllm");
  EXPECT_EQ(guess_source(write("a",
                               "\xef\xbb\xbf"
                               "arrival_s,input_tokens,output_tokens"))
                .name,
            "csv");
  EXPECT_EQ(guess_source(write("a", "one word")).name, "sessions");
  EXPECT_EQ(guess_source(write("a", "{\"id\": 1, \"conversations\": [")).name, "sharegpt");
  EXPECT_EQ(guess_source(write("a", R"({"messages": []})")).name, "sharegpt");
  EXPECT_EQ(guess_source(write("a", R"({"messages": [], "output_length": 5})")).name, "sessions");
}

TEST_F(Guess, NamesTheColumnsOfALogThatNoFormatHas) {
  const auto refusal_of = [this](const std::string& text) {
    try {
      return std::string(guess_source(write("a", text)).name);
    } catch (const InputError& error) {
      return without_folder(error.what());
    }
  };
  EXPECT_EQ(
      refusal_of("Timestamp,Prompt Tok,Completion Tok,User,TTFT (ms)\n2026-01-01,1,2,u,3\n"),
      "a: found a CSV with the columns Timestamp, Prompt Tok, Completion Tok, User, TTFT (ms), which "
      "match no format; --columns or workload.source.columns gives their meaning, probably "
      "'arrival=Timestamp,input=Prompt Tok,output=Completion Tok,ttft=TTFT (ms)' (and session=User, if all "
      "requests of a user are one conversation)");
  EXPECT_EQ(
      refusal_of("created_at;cached_prompt_tokens;prompt_tokens;completion_tokens;conversation_id\n"),
      "a: found a CSV with the columns created_at, cached_prompt_tokens, prompt_tokens, completion_tokens, "
      "conversation_id, which match no format; --columns or workload.source.columns gives their meaning, "
      "probably "
      "'arrival=created_at,input=prompt_tokens,output=completion_tokens,session=conversation_id'");
  EXPECT_EQ(refusal_of("a,b\n1,2\n"),
            "a: found a CSV with the columns a, b, which match no format; --columns or "
            "workload.source.columns gives their meaning, as 'arrival=A,input=I,output=O,session=S'");
  std::string many = "a0";
  for (int i = 1; i < 22; ++i) many += ",a" + std::to_string(i);
  EXPECT_NE(refusal_of(many + "\n").find(", a18, a19 and 2 more, which match no format"), std::string::npos);
  EXPECT_EQ(refusal_of("1,2,3\n"),
            "a: found a CSV with the columns 1, 2, 3, allowed: a first line that names the columns");
  EXPECT_EQ(
      refusal_of(R"({"ts": 1, "usage": {"prompt_tokens": 5, "completion_tokens": 6}})"),
      "a: found JSON with the keys ts, usage, usage.prompt_tokens, usage.completion_tokens, which match "
      "no format; --columns or workload.source.columns gives their meaning, probably "
      "'arrival=ts,input=usage.prompt_tokens,output=usage.completion_tokens'");
  EXPECT_EQ(refusal_of(R"({"id": 1, "turn": []})"), "sessions");
}

}  // namespace
}  // namespace kvcap::raw_readers_test
