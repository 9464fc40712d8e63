#include "runtime/engine/training/loss_curve.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr double kWidth = 900, kHeight = 480;
constexpr double kLeft = 72, kRight = 836, kTop = 64, kBottom = 416;
constexpr size_t kMostPoints = 800;  // more than the plot has pixels to tell apart
constexpr const char* kTrainColor = "#3b6fb6";
constexpr const char* kHeldBackColor = "#d1495b";

using Points = std::vector<std::pair<double, double>>;

/// One axis: data from `low` to `high`, ticks every `step`.
struct Axis {
  double low, high, step;
  double share(double value) const { return (value - low) / (high - low); }
};

/// 1, 2 or 5 times a power of ten, so that about `count` of them make up `range`.
double round_step(double range, int count) {
  const double raw = range / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power * 1.0001) return factor * power;
  return 10 * power;
}

Axis axis_for(double low, double high, int ticks) {
  if (!(high > low)) high = low + 1;
  const double step = round_step(high - low, ticks);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

double x_of(const Axis& axis, double step) { return kLeft + axis.share(step) * (kRight - kLeft); }
double y_of(const Axis& axis, double loss) { return kBottom - axis.share(loss) * (kBottom - kTop); }

/// Means of equal runs of points where there are more than the plot can show.
Points thinned(const std::vector<std::pair<int64_t, double>>& points) {
  const size_t run = points.size() / kMostPoints + 1;
  Points result;
  for (size_t i = 0; i < points.size(); i += run) {
    double x = 0, y = 0;
    const size_t end = std::min(points.size(), i + run);
    for (size_t j = i; j < end; ++j) x += static_cast<double>(points[j].first), y += points[j].second;
    const auto count = static_cast<double>(end - i);
    result.emplace_back(x / count, y / count);
  }
  return result;
}

/// Returns the value at `at` of the line that fits points[begin, end) best.
double fitted(const Points& points, size_t begin, size_t end, double at) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto count = static_cast<double>(end - begin);
  for (size_t i = begin; i < end; ++i) x += points[i].first / count, y += points[i].second / count;
  for (size_t i = begin; i < end; ++i) {
    const double dx = points[i].first - x;
    xx += dx * dx, xy += dx * (points[i].second - y);
  }
  return xx > 0 ? y + xy / xx * (at - x) : y;
}

/// Each point on the line that fits about a thirtieth of the curve around it best: in the middle that is the
/// mean. Towards the first points, where a loss falls steeply, there are fewer around each; towards the last
/// there are as many, so that no single one decides where the line ends.
Points smoothed(const Points& points) {
  const size_t reach = points.size() / 60;
  Points result;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t side = std::min(reach, i), end = std::min(points.size(), i + side + 1);
    const double x = points[i].first;
    result.emplace_back(x, fitted(points, end - std::min(end, 2 * side + 1), end, x));
  }
  return result;
}

std::string path(const Points& points, const Axis& x, const Axis& y, std::string_view style) {
  std::string d;
  for (const auto& [step, loss] : points)
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x_of(x, step), y_of(y, loss));
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", d, style);
}

std::string text(double x, double y, std::string_view style, std::string_view content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, content);
}

std::string escaped(std::string_view raw) {
  std::string result;
  for (const char c : raw) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result;
}

std::string tick_label(double value, double step) {
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg = "<g stroke=\"#e6e8eb\" stroke-width=\"1\">\n";
  std::string labels = "<g fill=\"#5b6470\" font-size=\"12\">\n";
  for (double value = y.low; value <= y.high + y.step / 2; value += y.step) {
    const double place = y_of(y, value);
    svg +=
        fmt::format("<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>\n", kLeft, place, kRight, place);
    labels += text(kLeft - 10, place + 4, "text-anchor=\"end\"", tick_label(value, y.step));
  }
  for (double value = x.low; value <= x.high + x.step / 2; value += x.step) {
    const double place = x_of(x, value);
    svg +=
        fmt::format("<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>\n", place, kTop, place, kBottom);
    labels += text(place, kBottom + 20, "text-anchor=\"middle\"", tick_label(value, x.step));
  }
  return svg + "</g>\n" + labels + "</g>\n";
}

std::string axes_names() {
  const double middle = (kTop + kBottom) / 2;
  return text((kLeft + kRight) / 2, kHeight - 18, "text-anchor=\"middle\" fill=\"#2b323b\" font-size=\"13\"",
              "step") +
         fmt::format(
             "<text transform=\"translate(22 {:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#2b323b\" "
             "font-size=\"13\">loss (nats per token)</text>\n",
             middle);
}

std::string legend_row(double x, std::string_view color, std::string_view label) {
  return fmt::format("<line x1=\"{}\" y1=\"30\" x2=\"{}\" y2=\"30\" stroke=\"{}\" stroke-width=\"3\"/>\n", x,
                     x + 22, color) +
         text(x + 30, 34, "fill=\"#2b323b\" font-size=\"13\"", label);
}

std::string held_back_marks(const Points& points, const Axis& x, const Axis& y) {
  std::string svg;
  for (const auto& [step, loss] : points)
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x_of(x, step),
                       y_of(y, loss), kHeldBackColor);
  const double loss = points.back().second;
  // Beside the plot, where no line can run through it.
  return svg + text(kRight + 10, y_of(y, loss) + 4,
                    fmt::format("fill=\"{}\" font-size=\"13\" font-weight=\"600\"", kHeldBackColor),
                    fmt::format("{:.3f}", loss));
}

struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double value) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
};

Points finite(const std::vector<std::pair<int64_t, double>>& points) {
  std::vector<std::pair<int64_t, double>> kept;
  std::ranges::copy_if(points, std::back_inserter(kept),
                       [](const auto& p) { return std::isfinite(p.second); });
  return thinned(kept);
}

}  // namespace

std::string render_loss_curve(const LossHistory& history, std::string_view title) {
  const Points train = finite(history.train), held_back = finite(history.held_back);
  Range steps, losses;
  steps.add(0);
  for (const Points* points : {&train, &held_back})
    for (const auto& [step, loss] : *points) steps.add(step), losses.add(loss);
  if (!std::isfinite(losses.low)) losses = {0, 1};
  Axis x = axis_for(steps.low, steps.high, 8);
  x.high = std::max(steps.high, 1.0);
  const Axis y = axis_for(losses.low, losses.high, 6);

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"{0}\" height=\"{1}\" rx=\"8\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight);
  svg += text(kLeft, 36, "fill=\"#1b2027\" font-size=\"17\" font-weight=\"600\"", escaped(title));
  svg += grid(x, y) + axes_names();
  if (!train.empty()) {
    svg += path(train, x, y, fmt::format("stroke=\"{}\" stroke-width=\"1\" opacity=\"0.28\"", kTrainColor));
    svg += path(smoothed(train), x, y, fmt::format("stroke=\"{}\" stroke-width=\"2\"", kTrainColor));
    svg += legend_row(640, kTrainColor, "training");
  }
  if (!held_back.empty()) {
    svg += path(held_back, x, y, fmt::format("stroke=\"{}\" stroke-width=\"2\"", kHeldBackColor));
    svg += held_back_marks(held_back, x, y) + legend_row(752, kHeldBackColor, "held back");
  }
  return svg + "</svg>\n";
}

}  // namespace smelt
