#include "commands/kept_answer.h"

#include <fstream>
#include <iterator>

#include "base/field_visitor.h"
#include "base/input_error.h"
#include "base/sha256.h"
#include "base/text/joined.h"
#include "base/text/json_values.h"
#include "launch/deployment.h"
#include "plan/sweep/point.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

// Returns points of the search space that together contain each listed value of each dimension, because a
// value may name a file whose contents belong to the key. A range contributes only its first value: it
// contains only numbers, which name no file.
std::vector<Point> points_of(const Plan& plan) {
  std::vector<Point> points = {Point(plan.search.size(), 0)};
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    for (std::size_t i = 1; i < plan.search[d].values.size() && !plan.search[d].is_range; ++i) {
      points.push_back(points.front());
      points.back()[d] = i;
    }
  }
  return points;
}

std::string words_of(const Plan& plan) {
  std::string text = plan.name + "\n" + plan.base.command + "\n" + plan.minimize + "\n" +
                     std::to_string(plan.max_replications) + "\n" + joined(plan.set, "\n");
  for (const Dimension& one : plan.search) text += "\n" + one.name() + "=" + joined(one.values, "\n");
  for (const Target& one : plan.meet)
    text += "\n" + one.metric + " " + number_text(one.min) + " " + number_text(one.max);
  return text;
}

}  // namespace

std::string plan_key(const Plan& plan) {
  Sha256 hash;
  hash.add(program_build() + "\n" + words_of(plan));
  PointKeys keys;
  bool is_known = false;
  for (const Point& point : points_of(plan)) {
    try {
      hash.add("\n" + keys.key(load_scenario(plan.base, changes_at(plan, point))));
      is_known = true;
    } catch (const InputError& error) {
      hash.add(std::string("\n") + error.what());  // the configuration cannot run
    }
  }
  return is_known ? hash.hex() : "";
}

Json deployments_of(const Scenario& answer) {
  Json all = Json::object();
  for (std::string_view form : kDeploymentForms) {
    Json& text = all[std::string(form)] = nullptr;
    try {
      text = deployment_of(answer, deployment_form(form));
    } catch (const InputError&) {
    }
  }
  return all;
}

std::optional<std::string> kept_deployment(const std::string& file, const std::string& key,
                                           const std::string& form) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const Json kept = Json::parse(text, nullptr, false);
  const Json& deployment = value_of(value_of(kept, "deployments"), form);
  if (key.empty() || text_of(kept, "key") != key || !deployment.is_string()) return std::nullopt;
  return deployment.get<std::string>();
}

}  // namespace kvcap
