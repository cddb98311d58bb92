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

}  // namespace
}  // namespace kvcap
