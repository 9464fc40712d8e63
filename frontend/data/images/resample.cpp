#include "frontend/data/images/resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace smelt {
namespace {

constexpr int kFraction = 22;  // bits of a weight: 32, without 8 of a pixel and 2 for overshoot

/// A filter: its number, the radius of its support in pixels, and its weight at a distance.
struct FilterRow {
  int64_t number;
  double support;
  double (*weight)(double x);
};

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Keys's cubic convolution with a = -0.5.
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double hamming(double x) {
  x = std::abs(x);
  if (x == 0) return 1;
  if (x >= 1) return 0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}

constexpr std::array<FilterRow, 5> kFilters = {
    {{1, 3, lanczos}, {2, 1, triangle}, {3, 2, cubic}, {4, 0.5, box}, {5, 1, hamming}}};

/// Weights of the input pixels [begin, begin + count) in one output pixel.
struct Window {
  int64_t begin = 0, count = 0;
  const int32_t* weights = nullptr;
};

/// Windows of all output pixels along one axis.
class Windows {
 public:
  Windows(int64_t from, int64_t to, const FilterRow& filter) {
    const double scale = static_cast<double>(from) / static_cast<double>(to), wide = std::max(scale, 1.0);
    const double support = filter.support * wide;
    most_ = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
    weights_.resize(static_cast<size_t>(to * most_));
    for (int64_t i = 0; i < to; ++i)
      add(i, (static_cast<double>(i) + 0.5) * scale, support, 1 / wide, from, filter);
  }
  const Window& operator[](int64_t i) const { return windows_[static_cast<size_t>(i)]; }
  int64_t size() const { return std::ssize(windows_); }

 private:
  void add(int64_t i, double center, double support, double unit, int64_t from, const FilterRow& filter) {
    const int64_t begin = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - support + 0.5)));
    const int64_t end = std::min(from, static_cast<int64_t>(std::floor(center + support + 0.5)));
    std::vector<double> exact;
    double sum = 0;
    for (int64_t x = begin; x < end; ++x) {
      exact.push_back(filter.weight((static_cast<double>(x) - center + 0.5) * unit));
      sum += exact.back();
    }
    int32_t* out = weights_.data() + i * most_;
    windows_.push_back({begin, end - begin, out});
    for (const double weight : exact) *out++ = rounded(sum != 0 ? weight / sum : weight);
  }

  static int32_t rounded(double weight) {
    return static_cast<int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << kFraction));
  }

  int64_t most_ = 0;  // weights per window
  std::vector<int32_t> weights_;
  std::vector<Window> windows_;
};

uint8_t clipped(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kFraction, 0, 255)); }

constexpr int32_t kHalf = 1 << (kFraction - 1);

template <int kChannels>
void resize_row(const uint8_t* in, const Windows& windows, uint8_t* out) {
  for (int64_t x = 0; x < windows.size(); ++x, out += kChannels) {
    const Window& window = windows[x];
    const uint8_t* pixel = in + window.begin * kChannels;
    int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    for (int64_t k = 0; k < window.count; ++k, pixel += kChannels)
      for (int c = 0; c < kChannels; ++c) sums[c] += pixel[c] * window.weights[k];
    for (int c = 0; c < kChannels; ++c) out[c] = clipped(sums[c]);
  }
}

Image resized_horizontally(const Image& image, int64_t width, const FilterRow& filter) {
  const Windows windows(image.width, width, filter);
  Image made(width, image.height, image.channels);
  const auto row = image.channels == 1 ? resize_row<1> : resize_row<3>;
  for (int64_t y = 0; y < image.height; ++y) row(image.row(y), windows, made.row(y));
  return made;
}

Image resized_vertically(const Image& image, int64_t height, const FilterRow& filter) {
  const Windows windows(image.height, height, filter);
  Image made(image.width, height, image.channels);
  const int64_t bytes = image.width * image.channels;
  std::vector<int32_t> sums(static_cast<size_t>(bytes));
  for (int64_t y = 0; y < height; ++y) {
    const Window& window = windows[y];
    std::ranges::fill(sums, kHalf);
    for (int64_t k = 0; k < window.count; ++k) {
      const uint8_t* in = image.row(window.begin + k);
      for (int64_t i = 0; i < bytes; ++i) sums[static_cast<size_t>(i)] += in[i] * window.weights[k];
    }
    std::ranges::transform(sums, made.row(y), clipped);
  }
  return made;
}

/// Pillow's order since version 13, which decides where intermediate values are rounded: vertical first if
/// the image loses more than two rows for each column that it loses. Versions before it begin horizontally.
bool is_vertical_first(const Image& image, int64_t width, int64_t height) {
  const int64_t rows = image.height - height, columns = image.width - width;
  return rows > 0 && rows > 2 * columns;
}

}  // namespace

std::optional<ImageFilter> image_filter_of(int64_t number) {
  const auto found = std::ranges::find(kFilters, number, &FilterRow::number);
  if (found == kFilters.end()) return std::nullopt;
  return static_cast<ImageFilter>(found - kFilters.begin());
}

Image resize(const Image& image, int64_t width, int64_t height, ImageFilter filter) {
  const FilterRow& row = kFilters[static_cast<size_t>(filter)];
  if (width == image.width) return height == image.height ? image : resized_vertically(image, height, row);
  if (height == image.height) return resized_horizontally(image, width, row);
  if (is_vertical_first(image, width, height))
    return resized_horizontally(resized_vertically(image, height, row), width, row);
  return resized_vertically(resized_horizontally(image, width, row), height, row);
}

}  // namespace smelt
