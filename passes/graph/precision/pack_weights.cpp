#include "passes/graph/precision/pack_weights.h"

#include <map>
#include <set>

#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/precision/flat_weights.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/parameter_patterns.h"
#include "runtime/base/error.h"
#include "runtime/base/packed_format.h"

namespace smelt {
namespace {

using Options = PackWeightsOptions;

const PackedFormat& format_of(const Options& options) {
  const PackedFormat* found = find_packed_format(options.format);
  if (!found) fail("pack_weights: '{}' is no format of packed numbers", options.format);
  return *found;
}

/// Returns the names of the weights that are packed.
std::set<std::string> packed_names(const Module& module, const Options& options) {
  const std::vector<bool> kept = parameters_that_fit(module, options.keep);
  std::set<std::string> left_out;
  for (auto [i, parameter] : llvm::enumerate(module.parameters))
    if (kept[i]) left_out.insert(parameter.name);
  return multiplied_weights(module, false, std::move(left_out));
}

/// Returns the number of groups of a row.
int64_t groups_of(const Segment& weight, const Options& options) {
  const int64_t columns = weight.shape.back(), group = options.group > 0 ? options.group : columns;
  const int per_word = format_of(options).codes_per_word();
  if (!weight.cut.empty())
    fail(
        "weights in the format {}: ranks have parts of '{}'; use --weight-type=int8 or float, or a mesh "
        "without an axis 'model'",
        options.format, weight.name);
  if (columns % group != 0 || group % per_word != 0)
    fail(
        "weights in the format {}: '{}' has rows of {} elements, which groups of {} do not divide; choose "
        "--weight-group (a multiple of {}), or leave it in floats (--keep-floats={})",
        options.format, weight.name, columns, group, per_word, weight.name);
  return columns / group;
}

Segment codes_segment(const Segment& weight, const Options& options) {
  Segment codes = weight;
  codes.per_byte = 8 / format_of(options).bits;
  codes.shape.back() /= codes.per_byte;
  return codes;
}

/// Returns the segment of the numbers of each group of the weight.
Segment groups_segment(const Segment& weight, const Options& options) {
  Segment groups;
  groups.name = weight.name, groups.shape = weight.shape, groups.decay = false, groups.frozen = true;
  groups.shape.back() = groups_of(weight, options);
  return groups;
}

void move_segments(Module& module, const std::set<std::string>& names, const Options& options) {
  State& flat = *module.find_state(kParameters);
  FlatState floats(flat.name, flat.dtype), codes(std::string(kPackedParameters), DType::u8),
      scales(std::string(kPackedScales), options.storage), zeros(std::string(kPackedZeros), DType::i8);
  const Segment* before = nullptr;
  for (const Segment& segment : flat.segments) {
    const bool taken = names.contains(segment.name);
    const bool follows = before && before->offset + before->elements() == segment.offset &&
                         taken == names.contains(before->name);
    if (taken) {
      codes.append(codes_segment(segment, options), follows);
      scales.append(groups_segment(segment, options), follows);
      zeros.append(groups_segment(segment, options), follows);
    } else {
      floats.append(segment, follows);
    }
    before = &segment;
  }
  flat = floats.finished();
  State packed = codes.finished(), of_scales = scales.finished(), of_zeros = zeros.finished();
  packed.format = options.format, of_scales.scales_of = of_zeros.zeros_of = kPackedParameters;
  module.states.push_back(std::move(packed));
  module.states.push_back(std::move(of_scales));
  if (options.zeros) module.states.push_back(std::move(of_zeros));
}

/// Replaces the weights that matmuls of a graph read by numbers made of their codes.
class WeightPacker {
 public:
  WeightPacker(Graph& graph, const std::set<std::string>& names, const Options& options)
      : graph_(graph), names_(names), options_(options) {}

  void run() {
    for (Node* matmul : nodes_of(graph_, Op::matmul))
      for (unsigned side : {0u, 1u})
        if (is_packed(*matmul->operand(side))) matmul->set_operand(side, numbers(*matmul->operand(side)));
    graph_.prune();
  }

 private:
  bool is_packed(const Value& weight) const {
    if (!weight.node()->is(Op::parameter) && !(weight.node()->is(Op::concat) && stacks(*weight.node())))
      return false;
    return names_.contains(parts_of(weight).front()->get(attr::name));
  }

  Value* numbers(Value& weight) {
    Value*& made = made_[&weight];
    if (!made) made = unpacked(weight);
    return made;
  }

  Value* unpacked(Value& weight) {
    Node& node = *weight.node();
    GraphBuilder b(graph_, graph_.next(&node));
    b.set_source(node.source);
    Value* zeros = options_.zeros ? rows_of(b, weight, kPackedZeros) : nullptr;
    Value* numbers = b.dequantize(rows_of(b, weight, kPackedParameters), rows_of(b, weight, kPackedScales),
                                  zeros, options_.format);
    return b.convert(numbers, weight.dtype());
  }

  /// Returns the rows of the weight in a flat state.
  static Value* rows_of(GraphBuilder& b, const Value& weight, std::string_view name) {
    const State& state = *b.module().find_state(name);
    Value* all = b.state(std::string(name));
    llvm::SmallVector<Value*, 4> values;
    for (const Node* part : parts_of(weight)) {
      const Segment& segment = *find_segment(state, part->get(attr::name));
      Value* elements = b.slice(all, 0, segment.offset, segment.elements());
      values.push_back(b.reshape(elements, Shape(segment.shape.begin(), segment.shape.end())));
    }
    return stacked(b, values);
  }

  Graph& graph_;
  const std::set<std::string>& names_;
  const Options& options_;
  std::map<const Value*, Value*> made_;
};

}  // namespace

bool pack_weights(Module& module, const Options& options) {
  if (module.parameters.empty() || module.find_state(kPackedParameters)) return false;
  flat_parameters(module);
  if (parameter_copy(module)) fail("pack_weights: parameters have f32 masters, which training updates");
  const std::set<std::string> names = packed_names(module, options);
  if (names.empty()) return false;
  move_segments(module, names, options);
  for (const auto& graph : module.graphs) WeightPacker(*graph, names, options).run();
  return true;
}

}  // namespace smelt
