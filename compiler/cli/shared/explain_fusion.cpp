#include "compiler/cli/shared/program_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "compiler/cli/shared/text_table.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace smelt::cli {
namespace {

constexpr size_t kMostOperations = 24;  // that are listed for one kernel

/// "sub, mul x2, reduce add": runs of one operation counted.
std::string operations_text(const std::vector<std::string>& operations) {
  std::vector<std::string> parts;
  for (size_t i = 0, run; i < operations.size(); i += run) {
    const auto end = std::find_if(operations.begin() + static_cast<std::ptrdiff_t>(i), operations.end(),
                                  [&](const std::string& other) { return other != operations[i]; });
    run = static_cast<size_t>(end - operations.begin()) - i;
    parts.push_back(run == 1 ? operations[i] : fmt::format("{} x{}", operations[i], run));
  }
  const size_t hidden = parts.size() - std::min(parts.size(), kMostOperations);
  parts.resize(parts.size() - hidden);
  return fmt::format("{}{}", fmt::join(parts, ", "), hidden > 0 ? fmt::format(" and {} more", hidden) : "");
}

using ReportedKernel = FusionReport::Kernel;
using Border = FusionReport::Border;

/// Each once, without layers.
std::vector<std::string> sources_of(const ReportedKernel& kernel) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  llvm::StringRef(kernel.source).split(parts, " + ");
  std::vector<std::string> sources;
  for (const llvm::StringRef part : parts)
    if (std::string source = without_layers(part); !llvm::is_contained(sources, source))
      sources.push_back(std::move(source));
  return sources;
}

/// Kernels of one graph that differ in their layer alone.
struct Kind {
  std::vector<const ReportedKernel*> kernels;
};

class Explanation {
 public:
  Explanation(const FusionReport& report, const std::string& graph, std::string_view filter)
      : report_(report), graph_(graph), filter_(filter) {
    for (const ReportedKernel& kernel : report.kernels)
      if (kernel.graph == graph) kinds_[key(kernel)].kernels.push_back(&kernel);
    int number = 0;
    for (const auto& [key, kind] : kinds_) {
      ++number;
      for (const ReportedKernel* kernel : kind.kernels) kind_of_[kernel->number] = {number, kernel};
    }
  }

  std::string text() const {
    size_t kernels = 0;
    for (const auto& [key, kind] : kinds_) kernels += kind.kernels.size();
    std::string result = fmt::format("@{}: {} kernels of {} kinds\n", graph_, kernels, kinds_.size());
    for (const auto& [key, kind] : kinds_)
      if (llvm::any_of(kind.kernels, [&](const ReportedKernel* k) { return is_wanted(*k); }))
        result += paragraph(kind);
    return result;
  }

 private:
  static std::string key(const ReportedKernel& k) {
    return fmt::format("{} {} {} {} {}", name(k.phase), fmt::join(sources_of(k), " + "),
                       fmt::join(k.operations, ","), k.bytes_read, k.bytes_written);
  }

  bool is_wanted(const ReportedKernel& kernel) const {
    return kernel.source.find(filter_) != std::string::npos;
  }

  /// The number identifies the kernel; of several sources the last one describes it best.
  std::string label(int kernel) const {
    const auto& [number, first] = kind_of_.at(kernel);
    const std::vector<std::string> sources = sources_of(*first);
    return fmt::format("#{} {}{}", number, sources.size() > 1 ? "... + " : "", sources.back());
  }

  std::string paragraph(const Kind& kind) const {
    const ReportedKernel& first = *kind.kernels.front();
    std::string text = fmt::format(
        "\n#{} {} ({}{}): reads {}, writes {}\n    {}\n", kind_of_.at(first.number).first,
        fmt::join(sources_of(first), " + "), name(first.phase),
        kind.kernels.size() > 1 ? fmt::format(", {} kernels", kind.kernels.size()) : "",
        bytes_text(first.bytes_read), bytes_text(first.bytes_written), operations_text(first.operations));
    std::vector<std::string> lines;
    for (const Border& border : report_.borders)
      for (const ReportedKernel* kernel : kind.kernels)
        if (border.graph == graph_ && is_wanted(*kernel)) add_lines(border, kernel->number, lines);
    return text + counted_lines(lines);
  }

  /// Adds the lines of a border from the kernel's side: "-> reader", "<- source", "|| reads the same".
  void add_lines(const Border& b, int kernel, std::vector<std::string>& lines) const {
    const bool gives = b.producer == kernel, takes = b.consumer == kernel;
    if (!gives && !takes) return;
    const int number = gives ? b.consumer : b.producer;
    std::string line = fmt::format("{} {}, {}",
                                   b.siblings ? "||"
                                   : gives    ? "->"
                                              : "<-",
                                   number > 0 ? label(number) : without_layers(b.other), name(b.reason));
    if (!b.detail.empty()) line += ": " + without_layers(b.detail);
    if (b.bytes > 0) line += fmt::format(" ({})", bytes_text(b.bytes));
    lines.push_back(std::move(line));
  }

  const FusionReport& report_;
  const std::string& graph_;
  std::string_view filter_;
  llvm::MapVector<std::string, Kind, std::map<std::string, unsigned>> kinds_;
  std::map<int, std::pair<int, const ReportedKernel*>>
      kind_of_;  // by the kernel's number: the kind's, and itself
};

}  // namespace

std::string without_layers(std::string_view source) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  for (size_t i = 0; i < source.size();) {
    size_t end = i;
    while (end < source.size() && is_digit(source[end])) ++end;
    const bool starts = end > i && i > 1 && source[i - 1] == '.' && !is_digit(source[i - 2]);
    const bool alone =
        starts && (end == source.size() || std::isalnum(static_cast<unsigned char>(source[end])) == 0);
    if (alone)
      result += '*';
    else
      result += source.substr(i, std::max<size_t>(1, end - i));
    i = std::max(end, i + 1);
  }
  return result;
}

std::string counted_lines(const std::vector<std::string>& lines) {
  llvm::MapVector<std::string, int, std::map<std::string, unsigned>> counts;
  for (const std::string& line : lines) ++counts[line];
  std::string text;
  for (const auto& [line, count] : counts)
    text += fmt::format("    {}{}\n", count > 1 ? fmt::format("{} x ", count) : "", line);
  return text;
}

std::string refusals_text(const FusionReport& report, std::string_view filter) {
  std::vector<std::string> lines;
  for (const FusionReport::Refusal& refusal : report.refusals)
    if (refusal.composite.find(filter) != std::string::npos)
      lines.push_back(fmt::format("{}: {} ({} of scores)", without_layers(refusal.composite), refusal.reason,
                                  bytes_text(refusal.bytes)));
  return lines.empty() ? "" : "taken apart, no kernel computes it whole:\n" + counted_lines(lines) + "\n";
}

std::string explain_fusion(const FusionReport& report, std::string_view filter) {
  std::vector<std::string> graphs;
  for (const ReportedKernel& kernel : report.kernels)
    if (!llvm::is_contained(graphs, kernel.graph)) graphs.push_back(kernel.graph);
  std::string text =
      "-> gives a value to, <- takes a value from, || reads the same value as; own_step: a step that no "
      "kernel "
      "takes in; bytes of the value between two, or that both read, are at the bounds, as f32 even where "
      "--precision is narrower\n";
  for (const std::string& graph : graphs) text += "\n" + Explanation(report, graph, filter).text();
  return text;
}

}  // namespace smelt::cli
