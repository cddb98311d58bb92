#include "validate/studies/study_file.h"

#include "base/json_schema.h"

namespace kvcap {
namespace {

constexpr double kMostNumber = 1e300;

FieldSpec limit(std::string_view meaning, std::string_view absent = {}) {
  return {.meaning = meaning, .min = 0, .max = kMostNumber, .absent = absent};
}

void describe_terms(FieldVisitor& v, StudyTerms& o) {
  v.field("scenario", o.scenario, {.meaning = "a scenario, or the path of one, relative to the study"});
  v.field("set", o.set, {.meaning = "changes of the scenario: a setting"});
  v.field("each", o.each, {.meaning = "list of settings; the value is computed in each of them"});
  v.field("seeds", o.seeds,
          {.meaning = "instead of each: {\"count\": 32, \"NAME\": 5} is 32 settings, with row.seed from 1 on "
                      "and row.NAME = 5; quick replaces these numbers under --quick"});
  v.field("source", o.source, {.meaning = "where the reference was published or measured"});
  v.field("group", o.group,
          {.meaning = "name that several checks share; checks.GROUP.all, .compared and .outside_share "
                      "summarise them"});
  v.field("summary", o.summary,
          {.meaning = "what is compared. none: every number; mean: the mean over the settings; interval: the "
                      "mean with its interval, at a confidence of 99 % for all intervals of the study "
                      "together; farthest: the number that is farthest from its reference; median_error, "
                      "worst_error: the median or largest error of all numbers, which may be at most "
                      "at_most"});
  v.field("inside", o.inside, limit("largest error of a number that counts as inside", "0.02; points: 0.01"));
  v.field("tolerance", o.tolerance,
          limit("largest error of a number that counts as near", "0.1; points: 0.05"));
  v.field("promised", o.promised,
          {.meaning = "if the number is outside, the command fails", .absent = "true"});
}

}  // namespace

void describe(FieldVisitor& v, StudyTableFile& o) {
  v.field("csv", o.csv, {.meaning = "CSV of measured runs, one per row", .required = true});
  v.field("where", o.where, {.meaning = "keeps rows whose columns have these texts; a list allows several"});
  v.field("if", o.condition, {.meaning = "keeps rows that meet a condition over the columns"});
  v.field("set", o.set,
          {.meaning = "setting of a row; {column} is replaced by the row's text, {expression} by a number"});
}

void describe(FieldVisitor& v, StudyCurveFile& o) {
  v.field("figure", o.figure, {.meaning = "the published figure", .required = true});
  v.field("series", o.series,
          {.meaning = "a policy, which gives the colour, or a policy and a variant (\"hcache, 13B\"), which "
                      "gives the symbol; null leaves these numbers out",
           .required = true});
  v.field("x", o.x,
          {.meaning = "a number or a name for each number of the check; a shorter list repeats; {\"value\": "
                      "EXPRESSION} is evaluated in every setting",
           .required = true});
  v.field("x_axis", o.x_axis, {.meaning = "name and unit of x", .required = true});
  v.field("y_axis", o.y_axis, {.meaning = "name and unit of the numbers", .absent = "what"});
}

void describe(FieldVisitor& v, StudyCheckFile& o) {
  v.field("id", o.id, {.meaning = "name of the check", .required = true});
  v.field("what", o.what, {.meaning = "description of the number", .absent = "id"});
  v.field("unit", o.unit, {.meaning = "unit of the number"});
  describe_terms(v, o);
  v.field("rows", o.rows, {.meaning = "one table or several, instead of each"});
  v.field("by", o.by, {.meaning = "list of settings, each combined with every setting of each"});
  v.field("value", o.value,
          {.meaning = "one or more expressions; their numbers are listed setting by setting"});
  v.field("reference", o.reference,
          {.meaning = "the measured or published numbers, expressions for them, or one range for all "
                      "numbers, {\"from\": 1.2, \"to\": 1.6}"});
  v.field("at_most", o.at_most, limit("limit of an error, or of the number"));
  v.field("holds", o.holds,
          {.meaning = "instead of a reference: a condition over the simulated numbers x1, x2, ..."});
  v.field("points", o.points, {.meaning = "errors are differences of shares, not relative"});
  v.field("role", o.role, {.meaning = "fitted numbers and inputs are not evidence of accuracy"});
  v.field("fitted_to", o.fitted_to,
          {.meaning = "parameters, or names in fits, that were fitted to other numbers of the source"});
  v.field("reason", o.reason,
          {.meaning = "why the number is not inside; without value: why it cannot be compared"});
  v.field("judged", o.judged,
          {.meaning = "false: the number is shown beside its reference, without a verdict"});
  v.field("family", o.family,
          {.meaning = "name of a group of runs; --suite uncertainty compares their model intervals with the "
                      "references"});
  v.field("curve", o.curve, {.meaning = "the published figure that the numbers belong to"});
}

void describe(FieldVisitor& v, StudyFile& o) {
  v.schema("kvcap.study/1", true);
  v.field("suite", o.suite, {.meaning = "suite of the checks", .absent = "the file's name"});
  describe_terms(v, o);
  v.field("slow", o.slow, {.meaning = "the suites leave this study out under --quick"});
  v.field("fits", o.fits, {.meaning = "names of fitted parameters, for fitted_to"});
  v.field("settings", o.settings, {.meaning = "settings by name, which may begin names in expressions"});
  v.field("tables", o.tables, {.meaning = "measured runs by name, for rows"});
  v.field("kernels", o.kernels, {.meaning = "measured kernels that are compared with the cost model"});
  v.field("checks", o.checks,
          {.meaning = "the compared numbers; required without kernels",
           .least = 1,
           .shape = "at least one check"});
}

void describe(FieldVisitor& v, StudyContexts& o) {
  constexpr std::string_view kNames[] = {"count", "tokens", "new_tokens", "output_tokens"};
  for (const std::string_view name : kNames) {
    std::optional<int64_t> value;
    v.field(name, value, {.min = 0, .max = 1e9});
    if (value) o.fields[std::string(name)] = *value;
  }
}

void describe(FieldVisitor& v, StudyTurns& o) {
  constexpr std::string_view kNames[] = {"from_s",     "to_s",          "from_session",
                                         "to_session", "answered_by_s", "node"};
  for (const std::string_view name : kNames) {
    std::optional<double> value;
    v.field(name, value, limit({}));
    if (value) o.bounds[std::string(name)] = *value;
  }
}

void describe(FieldVisitor& v, StudyRange& o) {
  constexpr FieldSpec kEnd = {.min = -kMostNumber, .max = kMostNumber, .required = true};
  v.field("from", o.from, kEnd);
  v.field("to", o.to, kEnd);
}

void describe(FieldVisitor& v, StudyValue& o) {
  v.field("value", o.value, {.meaning = "an expression", .required = true});
}

std::string study_json_schema() {
  return json_schema("kvcap.study/1", [](FieldVisitor& visitor) {
    StudyFile file;
    describe(visitor, file);
  });
}

}  // namespace kvcap
