#include "scenario/fields.h"

#include <gtest/gtest.h>

#include <string>

namespace kvcap::fields_test {
namespace {

// Walks the whole table; `path_` is where it is.
class Ranges : public FieldVisitor {
 public:
  int numbers = 0, integers = 0;

  void schema(std::string_view, bool) override {}
  void needs(std::string_view, std::string_view, std::string_view) override {}
  void flag(std::string_view, bool&, bool*, const FieldSpec&) override {}
  void text(std::string_view, std::string&, bool*, const FieldSpec&) override {}
  void integer(std::string_view name, int64_t& value, bool*, const FieldSpec& spec) override {
    ++integers;
    if (!spec.integers.empty()) return;
    const std::string place = path_ + std::string(name);
    EXPECT_GE(spec.min, 0) << place;
    EXPECT_LE(spec.max, kMaxInteger) << place;
    EXPECT_GE(static_cast<double>(value), 0) << place;
  }
  void number(std::string_view name, double&, bool*, const FieldSpec& spec) override {
    ++numbers;
    const std::string place = path_ + std::string(name);
    const bool is_signed = spec.min == -spec.max;  // a logarithm
    EXPECT_TRUE(spec.min == 0 || spec.min >= 1e-12 || is_signed) << place;
    EXPECT_LE(spec.max, 1e21) << place;
  }
  void object(std::string_view name, bool*, const FieldSpec&, const Describe& describe) override {
    inside(name, [&] { describe(*this); });
  }
  void list(std::string_view name, std::size_t, bool*, const FieldSpec&,
            const DescribeItem& describe_item) override {
    inside(name, [&] { describe_item(*this, 0); });
  }

 private:
  template <class Visit>
  void inside(std::string_view name, const Visit& visit) {
    const std::string before = path_;
    path_ += std::string(name) + ".";
    visit();
    path_ = before;
  }
  std::string path_;
};

// What lies beyond hangs the clock, or turns sums into infinity and their differences into no number.
TEST(Fields, AllHaveALeastAndAMost) {
  Scenario scenario;
  Ranges ranges;
  describe(ranges, scenario);
  EXPECT_GT(ranges.numbers, 60);
  EXPECT_GT(ranges.integers, 50);
}

}  // namespace
}  // namespace kvcap::fields_test
