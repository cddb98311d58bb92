#include "scenario/fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/read_fields.h"

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

struct Shop {
  Members<double> prices;
  std::vector<int64_t> sizes;
};

void describe(FieldVisitor& v, Shop& o) {
  v.schema("kvcap.shop/1", true);
  v.field("prices", o.prices,
          {.min = 0, .max = 10, .required = true, .least = 1, .shape = "a price or more"});
  v.field("sizes", o.sizes, {.min = 1, .max = 9});
}

std::string refusal_of(const std::string& members) {
  try {
    const auto json = nlohmann::ordered_json::parse(R"({"schema": "kvcap.shop/1", )" + members + "}");
    read_fields<Shop>(json, "shop.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Objects with keys of their own and lists of numbers, which no scenario has.
TEST(Fields, OfAnyFileAreCheckedByTheTable) {
  EXPECT_EQ(refusal_of(R"("prices": {"a": 1, "notes": "cheap"}, "sizes": [1, 9])"), "");
  EXPECT_EQ(refusal_of(R"("prices": {"notes": "none"})"),
            "shop.json: prices: found an object, allowed: a price or more");
  EXPECT_EQ(refusal_of(R"("prices": {"a": -1})"),
            "shop.json: prices.a: found -1, allowed: a number from 0 to 10");
  EXPECT_EQ(refusal_of(R"("prices": {"a": 1}, "sizes": [1, "2"])"),
            "shop.json: sizes.1: found \"2\", allowed: an integer from 1 to 9");
  EXPECT_EQ(refusal_of(R"("prices": {"a": 1}, "size": [1])"),
            "shop.json: size: unknown key; did you mean \"sizes\"?");
  EXPECT_EQ(refusal_of(R"("sizes": [1])"), "shop.json: prices: missing, required");
}

TEST(Fields, OfAFileKeepTheirOrder) {
  const auto json =
      nlohmann::ordered_json::parse(R"({"schema": "kvcap.shop/1", "prices": {"b": 2, "a": 1}})");
  const auto shop = read_fields<Shop>(json, "shop.json");
  ASSERT_EQ(shop.prices.size(), 2U);
  EXPECT_EQ(shop.prices[0].first, "b");
  EXPECT_EQ(shop.prices[1].second, 1);
}

TEST(Fields, OfAnotherKindOfFileAreNotLookedAt) {
  const auto json = nlohmann::ordered_json::parse(R"({"schema": "kvcap.plan/1", "search": {}})");
  try {
    read_fields<Shop>(json, "shop.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "shop.json: schema: found \"kvcap.plan/1\", this version supports \"kvcap.shop/1\"; kvcap "
                 "plan takes such a file");
  }
}

}  // namespace
}  // namespace kvcap::fields_test
