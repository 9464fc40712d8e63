#include "ir/graph/builder.h"

#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

Node* GraphBuilder::create(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes,
                           llvm::ArrayRef<Type> declared) {
  const std::vector<Type> types = infer_types(op, {}, {}, operands, attributes, declared);
  Node* node = graph_->create(op, operands, types, before_);
  node->attributes = std::move(attributes);
  node->source = source_;
  return node;
}

Node* GraphBuilder::create(Op op, llvm::ArrayRef<Value*> operands, Attributes attributes,
                           std::unique_ptr<Graph> body) {
  const std::vector<Type> types = infer_types(op, {}, {}, operands, attributes, {}, body.get());
  Node* node = graph_->create(op, operands, types, before_);
  node->attributes = std::move(attributes);
  node->source = source_;
  node->body = std::move(body);
  return node;
}

Value* GraphBuilder::input(std::string name, Type type) {
  Node* node = create(Op::input, {}, {attr::name(name)}, type);
  node->result()->name = std::move(name);
  return node->result();
}

Value* GraphBuilder::parameter(const Module::Parameter& parameter) {
  if (Module::Parameter* known = module().find_parameter(parameter.name)) {
    if (known->type != parameter.type)
      fail("parameter \"{}\" is declared as {} and as {}", parameter.name, str(known->type),
           str(parameter.type));
  } else {
    module().parameters.push_back(parameter);
  }
  return create(Op::parameter, {}, {attr::name(parameter.name)}, parameter.type)->result();
}

Value* GraphBuilder::parameter(std::string_view name) {
  const Module::Parameter* known = module().find_parameter(name);
  if (!known) fail("parameter \"{}\" is not declared", name);
  return create(Op::parameter, {}, {attr::name(known->name)}, known->type)->result();
}

Value* GraphBuilder::state(std::string_view name) {
  const State* known = module().find_state(name);
  if (!known) fail("state \"{}\" is not declared", name);
  return create(Op::state, {}, {attr::name(known->name)}, Type{known->dtype, known->shape})->result();
}

Value* GraphBuilder::constant(double value, Type type) {
  return create(Op::constant, {}, {attr::value(value)}, type)->result();
}

Value* GraphBuilder::table(std::vector<double> values, Type type) {
  return create(Op::constant, {}, {attr::values(std::move(values))}, type)->result();
}

Value* GraphBuilder::iota(Type type, int64_t axis) {
  return create(Op::iota, {}, {attr::axis(axis)}, type)->result();
}

Value* GraphBuilder::random(Shape shape, uint32_t id) {
  return create(Op::random, {}, {attr::id(id)}, Type{DType::i32, std::move(shape)})->result();
}

Value* GraphBuilder::pointwise(ScalarOp op, llvm::ArrayRef<Value*> operands) {
  const std::vector<Type> types = infer_types(Op::pointwise, op, {}, operands, {}, {});
  Node* node = graph_->create(Op::pointwise, operands, types, before_);
  node->scalar_op = op;
  node->source = source_;
  return node->result();
}

Value* GraphBuilder::convert(Value* value, DType dtype) {
  if (value->dtype() == dtype) return value;
  return create(Op::convert, {value}, {}, Type{dtype, value->shape()})->result();
}

Value* GraphBuilder::broadcast(Value* value, std::vector<int64_t> axes, Shape shape) {
  if (value->shape() == shape) return value;
  return create(Op::broadcast, {value}, {attr::axes(std::move(axes))}, Type{value->dtype(), std::move(shape)})
      ->result();
}

Value* GraphBuilder::broadcast_over(Value* value, std::vector<int64_t> new_axes, const Shape& shape) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (!llvm::is_contained(new_axes, i)) axes.push_back(i);
  return broadcast(value, std::move(axes), shape);
}

Value* GraphBuilder::broadcast_leading(Value* value, const Shape& shape) {
  std::vector<int64_t> axes;
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t i = rank - value->rank(); i < rank; ++i) axes.push_back(i);
  return broadcast(value, std::move(axes), shape);
}

Value* GraphBuilder::reshape(Value* value, Shape shape) {
  if (value->shape() == shape) return value;
  return create(Op::reshape, {value}, {}, Type{value->dtype(), std::move(shape)})->result();
}

Value* GraphBuilder::transpose(Value* value, std::vector<int64_t> permutation) {
  return create(Op::transpose, {value}, {attr::permutation(std::move(permutation))})->result();
}

Value* GraphBuilder::slice(Value* value, int64_t axis, Dim begin, Dim length) {
  if (axis < 0 || axis >= value->rank()) fail("slice: axis {} is outside {}", axis, str(value->type));
  Type type = value->type;
  type.shape[axis] = std::move(length);
  return create(Op::slice, {value}, {attr::axis(axis), attr::begin(begin)}, type)->result();
}

Value* GraphBuilder::strided_slice(Value* value, int64_t axis, Dim begin, int64_t step, Dim length) {
  if (axis < 0 || axis >= value->rank()) fail("strided_slice: axis {} is outside {}", axis, str(value->type));
  Type type = value->type;
  type.shape[axis] = std::move(length);
  return create(Op::strided_slice, {value}, {attr::axis(axis), attr::begin(begin), attr::step(step)}, type)
      ->result();
}

Value* GraphBuilder::windows(Value* value, int64_t axis, int64_t size, int64_t step, int64_t dilation) {
  Attributes attributes = {attr::axis(axis), attr::size(size)};
  if (step != 1) attributes.set(attr::step, step);
  if (dilation != 1) attributes.set(attr::dilation, dilation);
  return create(Op::windows, {value}, std::move(attributes))->result();
}

Value* GraphBuilder::pad(Value* value, int64_t axis, Dim low, Dim high, double number) {
  if (low.is_zero() && high.is_zero()) return value;
  return create(Op::pad, {value}, {attr::axis(axis), attr::low(low), attr::high(high), attr::value(number)})
      ->result();
}

Value* GraphBuilder::concat(llvm::ArrayRef<Value*> values, int64_t axis) {
  if (values.size() == 1) return values[0];
  return create(Op::concat, values, {attr::axis(axis)})->result();
}

Value* GraphBuilder::extent(const Dim& extent, DType dtype) {
  if (const auto count = extent.constant()) return scalar(static_cast<double>(*count), dtype);
  return convert(sum(constant(1, {DType::f32, {extent}}), {0}), dtype);
}

Node* GraphBuilder::reduce_node(ReduceOp op, Value* value, std::vector<int64_t> axes) {
  Attributes attributes{attr::axes(std::move(axes))};
  const std::vector<Type> types = infer_types(Op::reduce, {}, op, {value}, attributes, {});
  Node* node = graph_->create(Op::reduce, {value}, types, before_);
  node->reduce_op = op;
  node->attributes = std::move(attributes);
  node->source = source_;
  return node;
}

Value* GraphBuilder::reduce(ReduceOp op, Value* value, std::vector<int64_t> axes) {
  return reduce_node(op, value, std::move(axes))->result();
}

Value* GraphBuilder::gather(Value* table, Value* indices, int64_t axis) {
  return create(Op::gather, {table, indices}, {attr::axis(axis)})->result();
}

Value* GraphBuilder::scatter_add(Value* init, Value* indices, Value* updates, int64_t axis) {
  return create(Op::scatter_add, {init, indices, updates}, {attr::axis(axis)})->result();
}

Value* GraphBuilder::scatter(Value* init, Value* indices, Value* updates, int64_t axis) {
  return create(Op::scatter, {init, indices, updates}, {attr::axis(axis)})->result();
}

Value* GraphBuilder::matmul(Value* a, Value* b, std::string spec) {
  return create(Op::matmul, {a, b}, {attr::spec(std::move(spec))})->result();
}

Value* GraphBuilder::matmul(Value* a, Value* b, std::string spec, llvm::ArrayRef<Value*> arguments,
                            MakeBody make) {
  Attributes attributes{attr::spec(std::move(spec))};
  auto body = empty_body(module(), Op::matmul, infer_body_inputs(Op::matmul, {a, b}, arguments, attributes));
  GraphBuilder inside(*body);
  llvm::SmallVector<Value*, 4> inputs, operands = {a, b};
  for (Node* input : body->inputs()) inputs.push_back(input->result());
  inside.output("r0", make(inside, inputs));
  llvm::append_range(operands, arguments);
  return create(Op::matmul, operands, std::move(attributes), std::move(body))->result();
}

Value* GraphBuilder::einsum(llvm::ArrayRef<Value*> operands, std::string spec) {
  return create(Op::einsum, operands, {attr::spec(std::move(spec))})->result();
}

Value* GraphBuilder::scan(std::string kind, Value* value, int64_t axis, bool exclusive) {
  Attributes attributes = {attr::kind(std::move(kind)), attr::axis(axis)};
  if (exclusive) attributes.set(attr::exclusive, true);
  return create(Op::scan, {value}, std::move(attributes))->result();
}

Value* GraphBuilder::dequantize(Value* codes, Value* scales, Value* zeros, std::string format) {
  llvm::SmallVector<Value*, 3> operands = {codes, scales};
  if (zeros) operands.push_back(zeros);
  return create(Op::dequantize, operands, {attr::format(std::move(format))})->result();
}

Node* GraphBuilder::top_k(Value* value, int64_t k) { return create(Op::top_k, {value}, {attr::k(k)}); }

Node* GraphBuilder::sort(Value* value, bool descending) {
  return create(Op::sort, {value}, descending ? Attributes{attr::descending(true)} : Attributes{});
}

Node* GraphBuilder::sample(Value* scores, Value* numbers, Value* integers) {
  return create(Op::sample, {scores, numbers, integers});
}

Value* GraphBuilder::insert(Value* x, Value* value, llvm::ArrayRef<Value*> indices,
                            std::vector<int64_t> axes) {
  llvm::SmallVector<Value*, 5> operands = {x, value};
  llvm::append_range(operands, indices);
  return create(Op::insert, operands, {attr::axes(std::move(axes))})->result();
}

Node* GraphBuilder::update_at(std::string_view state, Value* value, llvm::ArrayRef<Value*> indices,
                              std::vector<int64_t> axes) {
  llvm::SmallVector<Value*, 4> operands = {value};
  llvm::append_range(operands, indices);
  return create(Op::update, operands, {attr::state(std::string(state)), attr::axes(std::move(axes))});
}

Node* GraphBuilder::update(std::string_view state, Value* value) {
  return create(Op::update, {value}, {attr::state(std::string(state))});
}

Value* GraphBuilder::stop_gradient(Value* value) { return create(Op::stop_gradient, {value})->result(); }

}  // namespace smelt
