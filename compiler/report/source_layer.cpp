#include "compiler/report/source_layer.h"

#include <algorithm>
#include <cctype>

namespace smelt {
namespace {

bool is_number(std::string_view part) {
  return !part.empty() &&
         std::ranges::all_of(part, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

std::string layer_of(std::string_view source) {
  constexpr int kParts = 2;  // of a name without a number
  size_t begin = 0, short_end = source.size();
  for (int part = 1; begin < source.size(); ++part) {
    const size_t end = std::min(source.find('.', begin), source.size());
    if (is_number(source.substr(begin, end - begin))) return std::string(source.substr(0, end));
    if (part == kParts) short_end = end;
    begin = end + 1;
  }
  return std::string(source.substr(0, short_end));
}

std::string layer_of(const std::vector<std::string>& sources) {
  std::vector<std::string> layers;
  for (const std::string& source : sources)
    if (std::string layer = layer_of(source); std::ranges::find(layers, layer) == layers.end())
      layers.push_back(std::move(layer));
  if (layers.empty()) return "(none)";
  return layers.size() > 2 ? "(several)" : layers.back();
}

std::vector<std::string> source_parts(std::string_view source) {
  constexpr std::string_view kSeparator = " + ";
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < source.size();) {
    const size_t end = std::min(source.find(kSeparator, begin), source.size());
    parts.emplace_back(source.substr(begin, end - begin));
    begin = end + kSeparator.size();
  }
  return parts;
}

}  // namespace smelt
