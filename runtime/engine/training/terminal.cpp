// The terminal side of metrics.h.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/system/environment.h"

namespace smelt {
namespace {

constexpr std::string_view kDim = "\x1b[2m", kBold = "\x1b[1m", kPlain = "\x1b[0m", kClearLine = "\r\x1b[K";
constexpr auto kRedrawEvery = std::chrono::milliseconds(80);

std::string duration(double seconds) {
  const auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

/// `share` of `width` cells filled, to an eighth of a cell.
std::string cells(double share, int width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * width * 8);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  for (int used = (eighths + 7) / 8; used < width; ++used) text += ' ';
  return text;
}

}  // namespace

TerminalStyle terminal_style(int descriptor) {
  TerminalStyle style;
  if (!::isatty(descriptor) || read_text(EnvironmentVariable::TERM) == "dumb") return style;
  style.bar = true;
  style.color = !read_text(EnvironmentVariable::NO_COLOR);
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  return style;
}

void TerminalProgress::started(int64_t first_step, int64_t steps) {
  first_step_ = first_step, steps_ = steps;
  begun_ = Clock::now();
}

std::string TerminalProgress::bar(const StepRecord& r) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  const auto done = static_cast<double>(std::max<int64_t>(1, r.step - first_step_));
  const double left = seconds / done * static_cast<double>(steps_ - r.step);
  const std::string share_of_peak = std::isnan(r.mfu()) ? "" : fmt::format("  {:.0f}% MFU", 100 * r.mfu());
  const std::string text = fmt::format(" {}/{}  loss {:.4f}  {:.0f} tok/s{}  {} left", r.step, steps_, r.loss,
                                       r.tokens_per_second, share_of_peak, duration(left));
  const int width = std::min(30, style_.width - static_cast<int>(text.size()) - 3);
  if (width < 5) return text.substr(0, static_cast<size_t>(std::max(0, style_.width - 1)));
  const double share = static_cast<double>(r.step) / static_cast<double>(std::max<int64_t>(1, steps_));
  return fmt::format("{}│{}", cells(share, width), text);
}

void TerminalProgress::stepped(const StepRecord& record) {
  const auto now = Clock::now();
  if (!style_.bar || (now - drawn_ < kRedrawEvery && record.step != steps_)) return;
  drawn_ = now;
  current_ = bar(record);
  out_ << kClearLine << current_ << std::flush;
}

void TerminalProgress::clear() {
  if (!current_.empty()) out_ << kClearLine;
}

void TerminalProgress::above(const std::string& text) {
  clear();
  out_ << text << '\n' << current_ << std::flush;
}

void TerminalProgress::evaluated(const EvaluationRecord& r) {
  std::string text = fmt::format("step {:>6}  held-back loss {:.4f}", r.step, r.loss);
  for (const Metric& metric : r.metrics) text += "  " + to_text(metric);
  above(style_.color ? fmt::format("{}{}{}", kBold, text, kPlain) : text);
}

void TerminalProgress::sampled(int64_t step, std::string_view text) {
  const std::string head = fmt::format("step {:>6}  sample:", step);
  above(style_.color ? fmt::format("{}{}{}\n{}", kDim, head, kPlain, text)
                     : fmt::format("{}\n{}", head, text));
}

void TerminalProgress::saved(int64_t, const std::filesystem::path&) {}

void TerminalProgress::message(std::string_view text) { above(std::string(text)); }

void TerminalProgress::finished(int64_t) {
  if (!current_.empty()) out_ << '\n' << std::flush;
  current_.clear();
}

}  // namespace smelt
