// A convolution as windows and a matmul:
//
//   x[b,c,h,w]  ->  [b,h,w,c], padded  ->  windows [b,y,i,x,j,c]  ->  with w[o,c,i,j] summed over i, j and c
//
// Channels come last, so that the window of one dim is one stretch of memory where it is not dilated: a row
// of the matmul's left matrix. With a channel a group, products are summed without a matmul.
#include "ir/ops/windows.h"
#include "passes/expressions.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kPlaces = "xyz", kTaps = "ijk";

class Convolution {
 public:
  Convolution(GraphBuilder& b, const Node& node)
      : b_(b),
        node_(node),
        dims_(conv_dims(node.operand(1)->shape(), node.attributes)),
        groups_(conv_groups(node.attributes)) {
    if (dims_.size() > kPlaces.size())
      fail("{}: {} dims behind the channels, expected at most {}", node.describe(), dims_.size(),
           kPlaces.size());
  }

  Value* run() {
    Value* x = windows(padded(channels_last(node_.operand(0))));
    Value* y = is_depthwise() ? summed(x) : multiplied(x);
    if (node_.operands().size() > 2) y = b_.add(y, along_last(b_, node_.operand(2), y->shape()));
    return channels_second(y);
  }

 private:
  const Shape& weight() const { return node_.operand(1)->shape(); }

  Value* channels_last(Value* x) {
    std::vector<int64_t> order = {0};
    for (const ConvDim& dim : dims_) order.push_back(dim.windows.axis);
    order.push_back(1);
    return b_.transpose(x, order);
  }

  Value* channels_second(Value* y) {
    std::vector<int64_t> order = {0, last_axis(y)};
    for (int64_t axis = 1; axis < last_axis(y); ++axis) order.push_back(axis);
    return b_.transpose(y, order);
  }

  Value* padded(Value* x) {
    for (const ConvDim& dim : dims_) x = b_.pad(x, dim.windows.axis - 1, dim.low, dim.high);
    return x;
  }

  /// Behind each dim that of its taps.
  Value* windows(Value* x) {
    for (size_t i = dims_.size(); i-- > 0;) {
      const Windows& w = dims_[i].windows;
      x = b_.windows(x, w.axis - 1, w.size, w.step, w.dilation);
    }
    return x;
  }

  bool is_depthwise() const { return groups_ > 1 && weight()[1].is_one() && weight()[0] == Dim(groups_); }

  /// Over the taps alone.
  Value* summed(Value* x) {
    std::vector<int64_t> order, taps, axes;
    for (size_t i = 0; i < dims_.size(); ++i) {
      order.push_back(static_cast<int64_t>(i) + 2);
      taps.push_back(2 * static_cast<int64_t>(i) + 2);
    }
    order.insert(order.end(), {0, 1});
    axes = taps;
    axes.push_back(last_axis(x));
    Value* w = b_.transpose(node_.operand(1), order);
    w = b_.reshape(w, Shape(w->shape().begin(), w->shape().end() - 1));
    return b_.sum(b_.mul(x, b_.broadcast(w, axes, x->shape())), taps);
  }

  Value* multiplied(Value* x) {
    std::string window = "b", kernel = "oc", out = "b";
    for (size_t i = 0; i < dims_.size(); ++i) {
      window += kPlaces[i], window += kTaps[i];
      kernel += kTaps[i], out += kPlaces[i];
    }
    if (groups_ == 1) return b_.matmul(x, node_.operand(1), window + "c," + kernel + "->" + out + "o");
    Value* y = b_.matmul(grouped(x, last_axis(x)), grouped(node_.operand(1), 0),
                         window + "gc,g" + kernel + "->" + out + "go");
    Shape shape(y->shape().begin(), y->shape().end() - 2);
    shape.push_back(weight()[0]);
    return b_.reshape(y, shape);
  }

  /// Splits a dim into its groups, which come before it.
  Value* grouped(Value* x, int64_t axis) {
    Shape shape = x->shape();
    Dim& dim = shape[static_cast<size_t>(axis)];
    dim = *dim.divide(groups_);
    shape.insert(shape.begin() + axis, Dim(groups_));
    return b_.reshape(x, shape);
  }

  GraphBuilder& b_;
  const Node& node_;
  std::vector<ConvDim> dims_;
  int64_t groups_;
};

}  // namespace

Values decompose_conv(GraphBuilder& b, const Node& node) { return {Convolution(b, node).run()}; }

}  // namespace smelt
