#include "commands/draws.h"

#include <charconv>

#include "base/input_error.h"
#include "plan/model_draws.h"

namespace kvcap {

void add_draws(Command& command, std::string& draws) {
  command
      .value("--draws", draws,
             "number of plausible machines to simulate for model intervals; 0: none; auto: up to 32, as "
             "long as they simulate no more turns than the runs")
      .with_default();
}

int64_t draws_of(const std::string& draws) {
  if (draws == "auto") return kAutoDraws;
  int64_t number = -1;
  const auto [end, error] = std::from_chars(draws.data(), draws.data() + draws.size(), number);
  if (error != std::errc() || end != draws.data() + draws.size() || number < 0 || number > kMostDraws) {
    throw InputError("--draws: found \"" + draws + "\", allowed: auto, or a number from 0 to " +
                     std::to_string(kMostDraws));
  }
  return number;
}

}  // namespace kvcap
