// Checks a hardware profile: prices, power, curves.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/checks/checks.h"
#include "scenario/fields.h"
#include "spec/tiers.h"

namespace kvcap {
namespace {

// True iff the text is a year, a month or a day: 2026, 2026-03 or 2026-03-31.
bool is_date(std::string_view text) {
  const auto is_number = [text](std::size_t at, std::size_t digits, int least, int most) {
    int number = 0;
    for (const char digit : text.substr(at, digits)) {
      if (digit < '0' || digit > '9') return false;
      number = 10 * number + (digit - '0');
    }
    return least <= number && number <= most;
  };
  const bool has_month = text.size() >= 7, has_day = text.size() == 10;
  if (text.size() != 4 && text.size() != 7 && !has_day) return false;
  return is_number(0, 4, 0, 9999) && (!has_month || (text[4] == '-' && is_number(5, 2, 1, 12))) &&
         (!has_day || (text[7] == '-' && is_number(8, 2, 1, 31)));
}

void check_date(const std::string& date, const Places& places, const std::string& path) {
  if (date.empty() || is_date(date)) return;
  fail(places, path, "\"" + date + "\"", "a date: 2026, 2026-03 or 2026-03-31");
}

void check_dates(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  check_date(hardware.gpu.price_date, places, below(path, "gpu.price_date"));
  for (Tier tier : kHostTiers) {
    if (const std::optional<TierFacts> facts = tier_facts(hardware, tier))
      check_date(std::string(facts->price_date), places,
                 below(path, std::string(name(tier)) + ".price_date"));
  }
}

// Checks that each part is either rented or bought, and that a busy GPU draws at least its idle power.
void check_prices(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  const auto either = [&](const std::string& part, const char* purchase_key, double purchase,
                          const char* rent_key, double rent) {
    if (purchase == 0 || rent == 0) return;
    fail(places, below(path, part + "." + purchase_key), number_text(purchase),
         "0 with " + part + "." + rent_key + " = " + number_text(rent) +
             " (rented or bought: one of them is 0)");
  };
  const Gpu& gpu = hardware.gpu;
  either("gpu", "purchase_usd", gpu.purchase_usd, "price_usd_per_hour", gpu.price_usd_per_hour);
  if (hardware.dram) {
    either("dram", "purchase_usd_per_gb", hardware.dram->purchase_usd_per_gb, "price_usd_per_gb_hour",
           hardware.dram->price_usd_per_gb_hour);
  }
  if (hardware.ssd) {
    either("ssd", "purchase_usd", hardware.ssd->purchase_usd, "price_usd_per_gb_hour",
           hardware.ssd->price_usd_per_gb_hour);
  }
  for (Tier tier : kTiers) {
    if (const std::optional<Devices>& part = hardware.devices[index(tier)]) {
      either(std::string(name(tier)), "purchase_usd_per_gb", part->purchase_usd_per_gb,
             "price_usd_per_gb_hour", part->price_usd_per_gb_hour);
    }
  }
  if (gpu.power_busy_w && gpu.power_idle_w > *gpu.power_busy_w) {
    fail(places, below(path, "gpu.power_idle_w"), number_text(gpu.power_idle_w),
         "at most gpu.power_busy_w = " + number_text(*gpu.power_busy_w));
  }
}

// Checks that points ascend in block_bytes and that their rates do not fall. `depth_of`: points with equal
// depth form one curve.
template <class Point, class Depth>
void check_curve(const std::vector<Point>& points, const Places& places, const std::string& path,
                 Depth depth_of) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const std::string at = below(path, std::to_string(i));
    for (std::size_t j = i; j-- > 0;) {
      const Point& before = points[j];
      if (depth_of(before) != depth_of(point)) continue;
      if (point.block_bytes <= before.block_bytes) {
        fail(places, below(at, "block_bytes"), number_text(point.block_bytes),
             "more than that of the previous point, " + number_text(before.block_bytes));
      }
      if (point.bytes_per_s < before.bytes_per_s) {
        fail(places, below(at, "bytes_per_s"), number_text(point.bytes_per_s),
             "at least the rate at smaller block_bytes, " + number_text(before.bytes_per_s));
      }
      break;
    }
  }
}

void check_curves(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  const auto all_alike = [](const RatePoint&) { return int64_t{1}; };
  const auto by_depth = [](const SsdPoint& point) { return point.queue_depth; };
  check_curve(hardware.pcie.h2d_curve, places, below(path, "pcie.h2d_curve"), all_alike);
  check_curve(hardware.pcie.d2h_curve, places, below(path, "pcie.d2h_curve"), all_alike);
  if (hardware.ssd) {
    check_curve(hardware.ssd->read_curve, places, below(path, "ssd.read_curve"), by_depth);
    check_curve(hardware.ssd->write_curve, places, below(path, "ssd.write_curve"), by_depth);
  }
  if (hardware.remote) check_curve(hardware.remote->curve, places, below(path, "remote.curve"), all_alike);
}

}  // namespace

void note_unreached(Scenario& scenario) {
  constexpr double kMargin = 1.1;
  const auto note = [&scenario](const std::string& part, const std::string& bandwidth, double bytes_per_s,
                                const std::string& curve, const auto& points) {
    double top = 0;
    for (const auto& point : points) top = std::max(top, point.bytes_per_s);
    if (points.empty() || bytes_per_s <= kMargin * top) return;
    scenario.notes.push_back("hardware." + part + "." + bandwidth + " " + number_text(bytes_per_s) +
                             " is not reached: " + curve + " ends at " + number_text(top));
  };
  const HardwareProfile& hardware = scenario.hardware;
  const Pcie& pcie = hardware.pcie;
  note("pcie", "h2d_bandwidth_bytes_per_s", pcie.h2d_bandwidth_bytes_per_s, "h2d_curve", pcie.h2d_curve);
  note("pcie", "d2h_bandwidth_bytes_per_s", pcie.d2h_bandwidth_bytes_per_s, "d2h_curve", pcie.d2h_curve);
  if (hardware.ssd) {
    const Ssd& ssd = *hardware.ssd;
    note("ssd", "read_bandwidth_bytes_per_s", ssd.read_bandwidth_bytes_per_s, "read_curve", ssd.read_curve);
    note("ssd", "write_bandwidth_bytes_per_s", ssd.write_bandwidth_bytes_per_s, "write_curve",
         ssd.write_curve);
  }
  if (hardware.remote) {
    const Remote& remote = *hardware.remote;
    note("remote", "bandwidth_bytes_per_s", remote.bandwidth_bytes_per_s, "curve", remote.curve);
  }
}

void check_hardware(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  check_curves(hardware, places, path);
  const EfficiencyModel attention = hardware.gpu.attention.model;
  const bool in_blocks = attention == EfficiencyModel::wave || attention == EfficiencyModel::blocks;
  if (in_blocks && hardware.gpu.sm_count < 1) {
    fail(places, below(path, "gpu.sm_count"), std::to_string(hardware.gpu.sm_count),
         "at least 1 where gpu.attention.model is \"wave\" or \"blocks\"");
  }
  check_dates(hardware, places, path);
  check_prices(hardware, places, path);
}

}  // namespace kvcap
