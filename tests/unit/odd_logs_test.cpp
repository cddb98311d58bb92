// Logs that are not as their format has them: values that are null, names that other formats have too, rows
// twice or in another order, and files in another encoding.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "unit/raw_files.h"
#include "workload/source.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

using Turns = std::vector<std::array<double, 3>>;  // time, input, output
using Notes = std::vector<std::string>;

class OddLog : public RawFiles {
 protected:
  static Turns turns_of(const Source& source) {
    Turns turns;
    for (const Turn& turn : source.turns) {
      turns.push_back(
          {turn.time_s, static_cast<double>(turn.input_tokens), static_cast<double>(turn.output_tokens)});
    }
    return turns;
  }
  Source open(const std::string& kind, const std::string& text) const {
    return open_source(holding(kind, text), 1);
  }
  std::string guessed(const std::string& text) const {
    return std::string(guess_source(write("g", text)).name);
  }
};

TEST_F(OddLog, OfVllmBenchMayHaveNullForAnArray) {
  const std::string head = R"({"request_rate":1,"total_input_tokens":1,"burstiness":1.0,"input_lens":[1],)";
  EXPECT_EQ(refusal("vllm_bench", head + R"("output_lens":null})"),
            "t: output_lens: missing, required beside input_lens");
  EXPECT_EQ(turns_of(open("vllm_bench", head + R"("output_lens":[2],"ttfts":null,"errors":null})")),
            (Turns{{0, 1, 2}}));
}

TEST_F(OddLog, IsOfVllmOnlyWithoutTheColumnsOfCsv) {
  const std::string header = "request_id,arrival_s,input_tokens,output_tokens";
  EXPECT_EQ(guessed(header + ",ttft_s\nx,0,1,2,3\n"), "vllm");
  for (const char* more : {"session", "e2el_s", "prompt_id"}) {
    EXPECT_EQ(guessed(header + "," + more + "\nx,0,1,2,3\n"), "csv") << more;
  }
  // Names are whole: e2e_s is vLLM's, and a session_kind is no session.
  EXPECT_EQ(guessed("\"request_id\"; arrival_s ;input_tokens;output_tokens;session_kind\r\n"), "vllm");
  const Source source = open("csv", header + ",session\nr1,0,10,2,a\nr2,1,5,2,a\nr3,2,7,2,\n");
  EXPECT_EQ(turns_of(source), (Turns{{0, 10, 2}, {1, 5, 2}, {2, 7, 2}}));
  ASSERT_EQ(source.sessions.size(), 2u);
  EXPECT_EQ(source.labels[1].id, "\"r3\"");
}

}  // namespace
}  // namespace kvcap
