// StudyFile: the fields of a study file (kvcap.study/1) as written. study_read.cpp turns them into a Study.
//
// A field of type Json may have several forms, for example a string or a list of strings, or the name of a
// setting or an object of fields. study_read.cpp checks these forms.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/field_visitor.h"
#include "validate/check.h"
#include "validate/kernels/kernel_sets.h"
#include "validate/studies/study.h"

namespace kvcap {

using Json = nlohmann::ordered_json;

struct StudyTableFile {
  std::string csv, condition;
  Members<Json> where;
  std::optional<Json> set;
};

struct StudyCurveFile {
  Json figure, series, x;
  std::string x_axis;
  std::optional<Json> y_axis;
};

// The fields of a check for which the study may give defaults.
struct StudyTerms {
  std::optional<Json> scenario, set, each, seeds;
  std::optional<std::string> source, group;
  std::optional<Summary> summary;
  std::optional<double> inside, tolerance;
  std::optional<bool> promised;
};

struct StudyCheckFile : StudyTerms {
  std::string id, unit, holds, reason, family;
  std::optional<std::string> what;
  std::optional<Json> rows, by, value, reference, fitted_to;
  std::optional<double> at_most;
  bool points = false, judged = true;
  Role role = Role::test;
  std::optional<StudyCurveFile> curve;
};

struct StudyFile : StudyTerms {
  std::optional<std::string> suite;
  bool slow = false;
  Members<Json> fits, settings;
  Members<StudyTableFile> tables;
  std::optional<KernelSets> kernels;
  std::optional<std::vector<StudyCheckFile>> checks;
};
void describe(FieldVisitor& visitor, StudyFile& file);

// Objects within the fields of a study.
struct StudyContexts {
  std::map<std::string, int64_t> fields;
};
void describe(FieldVisitor& visitor, StudyContexts& contexts);
struct StudyTurns {
  std::map<std::string, double> bounds;
};
void describe(FieldVisitor& visitor, StudyTurns& turns);
struct StudyRange {
  double from = 0, to = 0;
};
void describe(FieldVisitor& visitor, StudyRange& range);
struct StudyValue {
  std::string value;
};
void describe(FieldVisitor& visitor, StudyValue& value);

}  // namespace kvcap
