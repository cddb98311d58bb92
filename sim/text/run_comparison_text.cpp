#include "text/run_comparison_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/format.h"
#include "text/validation_text.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kComparisonColumns = 100;

// A figure that is shown for the simulation and the server, but not judged.
struct EvidenceRow {
  const char *name, *unit;
  Both RunEvidence::*figure;
  double scale = 1;
};
constexpr EvidenceRow kEvidence[] = {
    {"requests", "", &RunEvidence::requests},
    {"arrivals", "1/s", &RunEvidence::arrivals_per_s},
    {"mean prompt", "tokens", &RunEvidence::prompt_tokens},
    {"mean answer", "tokens", &RunEvidence::output_tokens},
    {"hits on the GPU", "%", &RunEvidence::gpu_hit_rate, 100},
    {"hits in lower tiers", "%", &RunEvidence::lower_hit_rate, 100},
    {"KV capacity", "tokens", &RunEvidence::kv_capacity_tokens},
    {"KV usage, mean", "%", &RunEvidence::kv_usage, 100},
    {"running, mean", "", &RunEvidence::running},
    {"waiting, mean", "", &RunEvidence::waiting},
    {"preemptions", "/100", &RunEvidence::preemptions_per_request, 100},
};

std::string left(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}
std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string line(const std::string& name, const std::string& simulated, const std::string& measured,
                 const std::string& difference, const std::string& allowed, std::string_view verdict) {
  std::string text = left(name, 22) + right(simulated, 12) + right(measured, 18) + right(difference, 14) +
                     right(allowed, 18) + "  " + std::string(verdict);
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string signed_text(double value, const std::string& unit) {
  constexpr double kNothing = 1e-3;
  if (std::isnan(value)) return "-";
  if (std::abs(value) < kNothing) return "0 " + unit;
  return (value > 0 ? "+" : "") + format_number(value) + " " + unit;
}

std::string measured_text(const Check& check, double scale) {
  if (check.reference.empty()) return "-";
  if (check.claim != Claim::range) return format_number(scale * check.reference.front());
  if (std::isinf(check.reference.back())) return "> " + format_number(check.reference.front());
  return format_number(check.reference.front()) + " .. " + format_number(check.reference.back());
}

// Returns the difference of the simulated figure from the measured one, or from the nearer bound of its
// bucket.
std::string difference_text(const Check& check) {
  if (check.simulated.empty()) return "-";
  const double simulated = check.simulated.front();
  if (check.absolute) return signed_text(100 * (simulated - check.reference.front()), "points");
  const double low = check.reference.front(), high = check.reference.back();
  if (simulated >= low && simulated <= high) return check.claim == Claim::range ? "0 %" : signed_text(0, "%");
  return signed_text(100 * (simulated / (simulated < low ? low : high) - 1), "%");
}

std::string whole_percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string allowed_text(const Check& check) {
  if (check.absolute) return std::to_string(std::lround(100 * check.tolerance)) + " points";
  std::string share = whole_percent(check.tolerance);
  if (check.half_width.empty() || !(check.half_width.front() > 0)) return share;
  return share + " or " + format_number(check.half_width.front()) + " ms";
}

std::string check_line(const Check& check) {
  const double scale = check.absolute ? 100 : 1;
  const std::string name = check.absolute ? check.what + ", %" : check.what;
  const std::string simulated =
      check.simulated.empty() ? "-" : format_number(scale * check.simulated.front());
  const bool is_given = check.role == Role::input;
  return line(name, simulated, measured_text(check, scale), difference_text(check),
              is_given ? "-" : allowed_text(check),
              is_given ? "given" : kAgreementNames[static_cast<std::size_t>(check.verdict)]);
}

std::string groups_text(const Cause& cause) {
  std::string text;
  for (const FigureGroup one : cause.groups)
    text += (text.empty() ? "" : ", ") + std::string(kFigureGroupNames[static_cast<std::size_t>(one)]);
  return text;
}

std::string evidence_lines(const std::string& text) {
  std::string lines;
  for (const std::string& one : wrap(text, kComparisonColumns, "  ")) lines += one + "\n";
  return lines;
}

std::string conclusion(const std::vector<Check>& checks) {
  int inside = 0, outside = 0;
  for (const Check& one : checks) {
    inside += one.verdict == Agreement::inside;
    outside += one.verdict == Agreement::outside;
  }
  const std::string judged = format_count(inside + outside, "judged figure");
  if (inside + outside == 0) return "Nothing in the log can be judged.";
  if (outside == 0) return "The simulation agrees with the server in all of " + judged + ".";
  return "The simulation does not agree with the server: " + std::to_string(outside) + " of " + judged +
         (outside == 1 ? " is outside." : " are outside.");
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string run_comparison_table(const RunComparison& comparison) {
  std::string text = evidence_lines(comparison.header) + "\n";
  text += line("", "simulated", "measured", "difference", "allowed", "verdict");
  for (const Check& one : comparison.checks) text += check_line(one);
  text += "\n" + line("not judged", "simulated", "measured", "", "", "");
  for (const EvidenceRow& row : kEvidence) {
    const Both& both = comparison.evidence.*row.figure;
    const std::string unit = *row.unit == '\0' ? "" : std::string(", ") + row.unit;
    text += line(row.name + unit, format_number(row.scale * both.simulated),
                 format_number(row.scale * both.measured), "", "", "");
  }
  text += "\n" + evidence_lines(conclusion(comparison.checks));
  for (const Cause& one : comparison.causes) {
    text += evidence_lines("Likely cause (" + groups_text(one) + "): " + one.text +
                           (one.field.empty() ? "" : " [" + one.field + "]"));
  }
  for (const Check& one : comparison.checks) {
    if (one.verdict == Agreement::not_comparable && !one.reason.empty() && !one.id.ends_with("p50") &&
        !one.id.ends_with("p90") && !one.id.ends_with("p99")) {
      text += evidence_lines("Not compared: " + one.what + ": " + one.reason + ".");
    }
  }
  for (const std::string& one : comparison.notes) text += evidence_lines("Note: " + one + ".");
  return text;
}

std::string run_comparison_json(const RunComparison& comparison) {
  Json object = Json::parse(validation_json(comparison.checks));
  object["causes"] = Json::array();
  for (const Cause& one : comparison.causes) {
    Json groups = Json::array();
    for (const FigureGroup group : one.groups)
      groups.push_back(kFigureGroupNames[static_cast<std::size_t>(group)]);
    object["causes"].push_back({{"id", one.id},
                                {"explains", groups},
                                {"field", one.field.empty() ? Json(nullptr) : Json(one.field)},
                                {"text", one.text}});
  }
  object["evidence"] = Json::array();
  for (const EvidenceRow& row : kEvidence) {
    const Both& both = comparison.evidence.*row.figure;
    object["evidence"].push_back({{"name", row.name},
                                  {"unit", row.unit},
                                  {"simulated", finite_or_null(row.scale * both.simulated)},
                                  {"measured", finite_or_null(row.scale * both.measured)}});
  }
  object["notes"] = comparison.notes;
  return object.dump(2) + "\n";
}

}  // namespace kvcap
