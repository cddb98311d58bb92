#include "text/validation_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/format.h"
#include "base/text/plain_text.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCheckColumns = 100;

std::string_view name(Agreement verdict) { return kAgreementNames[static_cast<std::size_t>(verdict)]; }

// Returns all numbers of an exact claim, the error of an at_most claim, or the range of the numbers.
std::string simulated_text(const Check& check) {
  const std::vector<double>& numbers = check.simulated;
  if (numbers.empty()) return "-";
  if (check.claim == Claim::at_most) return format_percent(numbers.front());
  if (check.claim == Claim::exact) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      text += (text.empty() ? "" : " / ") + format_number(numbers[i]);
      if (!check.half_width.empty()) text += " +-" + format_number(check.half_width[i]);
    }
    return text;
  }
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  const std::string low = format_number(*least), high = format_number(*most);
  return low == high ? low : low + " .. " + high;
}

std::string reference_text(const Check& check) {
  // A check without data has no reference either.
  if (check.claim == Claim::order || check.reference.empty()) return "-";
  if (check.claim == Claim::at_most) return "<= " + format_percent(check.reference.front());
  if (check.claim == Claim::range) {
    return format_number(check.reference[0]) + " .. " + format_number(check.reference[1]);
  }
  std::string text;
  for (double number : check.reference) text += (text.empty() ? "" : " / ") + format_number(number);
  return text;
}

std::string cell(std::string text, std::size_t width, bool right) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  const std::string blank(width - text.size(), ' ');
  return right ? blank + text : text + blank;
}

std::string line(const std::string& id, const std::string& simulated, const std::string& reference,
                 const std::string& error, const std::string& tolerance, std::string_view tuned,
                 std::string_view verdict) {
  return cell(id, 28, false) + " " + cell(simulated, 16, true) + " " + cell(reference, 16, true) + " " +
         cell(error, 8, true) + " " + cell(tolerance, 6, true) + " " + cell(std::string(tuned), 5, true) +
         "  " + std::string(verdict) + "\n";
}

// Returns "~0 %" for rounding errors.
std::string percent_text(double share) { return share > 0 && share < 1e-5 ? "~0 %" : format_percent(share); }

std::string error_text(const Check& check) {
  return check.absolute ? format_number(100 * check.error) + " pp" : percent_text(check.error);
}

std::string tolerance_text(const Check& check) {
  if (check.claim == Claim::at_most) return "-";
  return check.absolute ? format_number(100 * check.tolerance) + " pp" : percent_text(check.tolerance);
}

// Returns the number of tuned parameters behind a test; for other checks, "fit" or "input".
std::string tuned_text(const Check& check) {
  if (check.role == Role::fitted) return "fit";
  if (check.role == Role::input) return "input";
  return std::to_string(check.tuned.size());
}

bool judged(const Check& check) { return check.verdict != Agreement::not_comparable; }

// Counts of one suite: tests by verdict, and separately the checks whose numbers were fitted or given.
struct Tally {
  std::array<int, std::size(kAgreementNames)> counts{};
  int fitted = 0, inputs = 0;
  const Check* worst = nullptr;
  std::vector<double> errors;  // relative errors of single numbers
  std::set<std::string> tuned;
};

std::vector<std::pair<std::string, Tally>> tallies(const std::vector<Check>& checks) {
  std::vector<std::pair<std::string, Tally>> list;
  for (const Check& check : checks) {
    if (list.empty() || list.back().first != check.suite) list.push_back({check.suite, {}});
    Tally& tally = list.back().second;
    tally.tuned.insert(check.tuned.begin(), check.tuned.end());
    if (judged(check) && check.role != Role::test) {
      ++(check.role == Role::fitted ? tally.fitted : tally.inputs);
      continue;
    }
    ++tally.counts[static_cast<std::size_t>(check.verdict)];
    if (!judged(check)) continue;
    if (check.claim == Claim::exact && !check.absolute) tally.errors.push_back(check.error);
    const bool compares = check.claim != Claim::at_most && check.claim != Claim::order;
    if (compares && (!tally.worst || check.error > tally.worst->error)) tally.worst = &check;
  }
  return list;
}

Json number_or_list(const std::vector<double>& numbers) {
  if (numbers.empty()) return nullptr;
  return numbers.size() == 1 ? Json(numbers.front()) : Json(numbers);
}

// Returns the points that belong to a published figure.
Json curve_json(const Check& check) {
  Json points = Json::array();
  for (const Check::Point& point : check.points) {
    points.push_back({{"figure", point.figure},
                      {"y_axis", point.y_axis},
                      {"series", point.series},
                      {"x", std::visit([](const auto& x) { return Json(x); }, point.x)},
                      {"simulated", point.simulated},
                      {"published", number_or_list(point.published)}});
  }
  return {{"x_axis", check.x_axis}, {"points", std::move(points)}};
}

}  // namespace

std::string validation_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    Json cases = Json::array();
    for (const Check::Case& one : check.cases) {
      cases.push_back({{"simulated", one.simulated}, {"reference", one.reference}});
    }
    list.push_back({{"id", check.id},
                    {"suite", check.suite},
                    {"what", check.what},
                    {"simulated", number_or_list(check.simulated)},
                    {"reference", number_or_list(check.reference)},
                    {"error", judged(check) ? Json(check.error) : Json(nullptr)},
                    {"tolerance", check.tolerance},
                    {"promised", check.promised},
                    {"tuned", check.tuned},
                    {"role", kRoleNames[static_cast<std::size_t>(check.role)]},
                    {"verdict", name(check.verdict)},
                    {"reason", check.reason.empty() ? Json(nullptr) : Json(check.reason)}});
    if (!check.source.empty()) list.back()["source"] = check.source;
    if (!cases.empty()) list.back()["cases"] = std::move(cases);
    if (!check.cases_of.empty()) list.back()["cases_of"] = check.cases_of;
    if (!check.points.empty()) list.back()["curve"] = curve_json(check);
  }
  Json summary = Json::object();
  for (const auto& [suite, tally] : tallies(checks)) {
    for (std::size_t i = 0; i < tally.counts.size(); ++i)
      summary[suite][kAgreementNames[i]] = tally.counts[i];
    summary[suite]["fitted"] = tally.fitted;
    summary[suite]["input"] = tally.inputs;
    if (tally.worst) summary[suite]["worst"] = tally.worst->id;
  }
  return Json{{"schema", "kvcap.validation/1"}, {"checks", list}, {"summary", summary}}.dump(2) + "\n";
}

std::string validation_table(const std::vector<Check>& checks) {
  std::string text = line("", "simulated", "reference", "error", "near", "tuned", "verdict");
  for (const Check& check : checks) {
    const bool has_error = judged(check) && check.claim != Claim::order;
    text += line(check.id, simulated_text(check), reference_text(check), has_error ? error_text(check) : "-",
                 has_error ? tolerance_text(check) : "-", tuned_text(check), name(check.verdict));
  }
  text += "\n";
  for (const Check& check : checks) {
    if (check.promised && check.verdict == Agreement::outside) {
      for (const std::string& part :
           wrap(check.id + ": outside the accuracy that README states: " + check.what, kCheckColumns, "  "))
        text += part + "\n";
    }
    if (check.verdict == Agreement::inside || check.reason.empty()) continue;
    for (const std::string& part : wrap(check.id + ": " + check.reason, kCheckColumns, "  "))
      text += part + "\n";
  }
  for (const auto& [suite, tally] : tallies(checks)) {
    std::string sentence = suite + ":";
    for (std::size_t i = 0; i < tally.counts.size(); ++i) {
      sentence +=
          (i == 0 ? " " : ", ") + std::to_string(tally.counts[i]) + " " + std::string(kAgreementNames[i]);
    }
    if (tally.fitted + tally.inputs > 0) {
      sentence += "; not tests: " + std::to_string(tally.fitted) + " fitted, " +
                  std::to_string(tally.inputs) + " given";
    }
    if (tally.worst) sentence += "; worst " + tally.worst->id + ", " + error_text(*tally.worst);
    text += "\n";
    for (const std::string& part : wrap(sentence, kCheckColumns, "  ")) text += part + "\n";
  }
  return text;
}

namespace {

// Escapes bars, which would end the cell.
std::string in_a_cell(std::string_view any) {
  std::string text = plain_line(any);
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, 1, '\\');
  return text;
}

// Returns the tuned parameters behind the row's number, for the column "fitted to it".
std::string fitted_text(const Check& check) {
  if (check.role == Role::input) return "given";
  std::string text = check.role == Role::fitted ? "its own data" : "";
  for (const std::string& one : check.tuned) text += (text.empty() ? "" : "; ") + one;
  return text.empty() ? "nothing" : text;
}

std::string markdown_row(const Check& check) {
  const bool has_error = judged(check) && check.claim != Claim::order;
  return "| " + in_a_cell(check.what) + " (`" + check.id + "`) | " + simulated_text(check) + " | " +
         reference_text(check) + " | " + (has_error ? error_text(check) : "-") + " | " +
         in_a_cell(fitted_text(check)) + " |";
}

std::string suite_rows(const std::vector<Check>& checks) {
  std::string text =
      "| suite | inside | near | outside | not comparable | fitted, given | median error | tuned | farthest "
      "off |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [suite, tally] : tallies(checks)) {
    text += "| " + suite;
    for (const int count : tally.counts) text += " | " + std::to_string(count);
    text += " | " + std::to_string(tally.fitted) + ", " + std::to_string(tally.inputs);
    text += " | " + (tally.errors.empty() ? "-" : percent_text(quantile_of(tally.errors, 0.5)));
    text += " | " + std::to_string(tally.tuned.size());
    const bool off = tally.worst && tally.worst->error > 0;
    text += " | " + (off ? "`" + tally.worst->id + "`, " + error_text(*tally.worst) : "-") + " |\n";
  }
  return text;
}

const Check* judged_check(const std::vector<Check>& checks, std::string_view id) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [id](const Check& one) { return one.id == id && judged(one); });
  return found == checks.end() ? nullptr : &*found;
}

// Returns a table without rows if the data are missing.
std::string headline_rows(const std::vector<Check>& checks, std::span<const Headline> headlines) {
  std::string text =
      "| what | runs | error | best published | in 80 % intervals |\n| --- | --- | --- | --- | --- |\n";
  for (const Headline& one : headlines) {
    const Check* check = judged_check(checks, one.check);
    if (!check) continue;
    const Check* coverage = judged_check(checks, one.coverage);
    text += "| " + std::string(one.what) + " (`" + std::string(one.check) + "`) | " + std::string(one.runs) +
            " | " + error_text(*check) + " | " + std::string(one.peer) + " | " +
            (coverage ? percent_text(coverage->simulated.front()) : "-") + " |\n";
  }
  return text;
}

}  // namespace

// Sources of the published errors: for BLIS, the pages of inference-sim (errors on runs held out from
// training c4f03409); for DynoSim, its error on points of InferenceX.
std::span<const Headline> headlines() {
  static constexpr Headline kHeadlines[] = {
      {"vLLM 0.15.1 as launched: end to end", "16 stages of four models on H100s, median",
       "vllm-h100.typed.e2el", "6.8 % (BLIS, runs that it held out)", "coverage.vllm-h100"},
      {"vLLM 0.15.1: time to first token", "the same", "vllm-h100.typed.ttft", "12.9 % (BLIS)",
       "coverage.vllm-h100"},
      {"vLLM in closed loops: TPOT", "models with and without experts on H100, H200 and B200, median",
       "silicon.tpot", "30 % (DynoSim, mean over 759 other points)", "coverage.closed_loops"},
      {"vLLM on a workstation: end to end", "one run on an RTX 4090", "vllm.e2el.mean"},
      {"a fleet behind a router that knows prefixes: tokens/s", "16 rates on 16 H100s, median",
       "llm-d.precise_prefix.tokens", "none", "coverage.llm-d.precise_prefix"},
      {"contexts loaded from DRAM: first token of 50,000 tokens", "vLLM's offloading connector on an H100",
       "stacks.vllm_offload.load_50k"},
      {"token hit rate of a store that keeps everything", "12,031 prompts of Mooncake's trace",
       "hits.mooncake.unbounded"},
      {"GEMMs in bfloat16 that nothing was fitted to", "308 shapes on an H100, median",
       "gemm.bfloat16.h100-sxm-8x.median"}};
  return kHeadlines;
}

std::string validation_markdown(const std::vector<Check>& checks, std::span<const Headline> headlines) {
  std::string text = headline_rows(checks, headlines);
  text += "\n" + suite_rows(checks);
  std::string suite;
  for (const Check& check : checks) {
    if (check.suite != suite) {
      suite = check.suite;
      text += "\n### " + suite +
              "\n\n| number | simulated | reference | error | fitted to it | verdict |\n"
              "| --- | --- | --- | --- | --- | --- |\n";
    }
    text +=
        markdown_row(check) + " " + std::string(name(check.verdict)) +
        (check.reason.empty() || check.verdict == Agreement::inside ? "" : ": " + in_a_cell(check.reason)) +
        " |\n";
  }
  return text;
}

}  // namespace kvcap
