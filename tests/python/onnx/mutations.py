"""Models with a fault: one of many small changes to a good one, drawn by a seed."""

import onnx
from onnx import AttributeProto, TensorProto, helper

NUMBERS = [0, 1, -1, 2, 3, -3, 7, 100, -(2**31), 2**31, 2**63 - 1]
SIZES = [0, 1, 2, 3, 5, 17, -1, 2**31 - 1, 2**40]
OPERATORS = ["Add", "Gather", "Concat", "Reshape", "MatMul", "Softmax", "Slice", "Conv", "Where", "Split", "Loop", "Made_up"]


def mutated(model, draw):
    """A copy with one to three changes, and what these are."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    done = [name for name in (draw.choice(list(MUTATIONS)) for _ in range(draw.choice([1, 1, 1, 2, 3]))) if _try(name, copy, draw)]
    return copy, done


def _try(name, model, draw):
    try:
        return MUTATIONS[name](model, draw) is not False
    except IndexError:  # nothing there to be changed
        return False


def graph_of(model, draw):
    """The model's graph, or one inside of it."""
    inner = [a.g for node in model.graph.node for a in node.attribute if a.type == AttributeProto.GRAPH]
    return draw.choice(inner + [model.graph])


def node_of(model, draw):
    return draw.choice(graph_of(model, draw).node)


def drop_input(model, draw):
    node = node_of(model, draw)
    del node.input[draw.randrange(len(node.input)) if node.input else 0]


def swap_inputs(model, draw):
    node = node_of(model, draw)
    names = list(node.input)
    draw.shuffle(names)
    node.input[:] = names


def add_input(model, draw):
    node = node_of(model, draw)
    node.input.append(draw.choice(list(node.input) + [""]))


def rename_input(model, draw):
    graph = graph_of(model, draw)
    node = draw.choice(graph.node)
    names = [n for each in graph.node for n in (*each.input, *each.output)] + ["nowhere", ""]
    node.input[draw.randrange(len(node.input)) if node.input else 0] = draw.choice(names)


def rename_output(model, draw):
    graph = graph_of(model, draw)
    node = draw.choice(graph.node)
    names = [n for each in graph.node for n in each.output] + ["nobody", ""]
    node.output[draw.randrange(len(node.output)) if node.output else 0] = draw.choice(names)


def drop_output(model, draw):
    node_of(model, draw).output.pop()


def drop_node(model, draw):
    graph = graph_of(model, draw)
    del graph.node[draw.randrange(len(graph.node)) if graph.node else 0]


def move_node(model, draw):
    graph = graph_of(model, draw)
    nodes = list(graph.node)
    draw.shuffle(nodes)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def repeat_node(model, draw):
    graph = graph_of(model, draw)
    graph.node.append(draw.choice(graph.node))


def change_operator(model, draw):
    node_of(model, draw).op_type = draw.choice(OPERATORS)


def change_attribute(model, draw):
    attribute = draw.choice(node_of(model, draw).attribute)
    if attribute.type == AttributeProto.INT:
        attribute.i = draw.choice(NUMBERS)
    elif attribute.type == AttributeProto.INTS:
        attribute.ints[:] = [draw.choice(NUMBERS[:8]) for _ in range(draw.choice([len(attribute.ints), 0, 1, 3]))]
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = draw.choice([0.0, -1.0, float("nan"), float("inf"), 1e30])
    elif attribute.type == AttributeProto.STRING:
        attribute.s = draw.choice([b"", b"nonsense", b"\xff\xfe", b"linear"])
    elif attribute.type == AttributeProto.TENSOR:
        return change_tensor(attribute.t, draw)
    else:
        return False


def retype_attribute(model, draw):
    attribute = draw.choice(node_of(model, draw).attribute)
    values = [1, 0.5, "text", [1, 2], [0.5], helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0])]
    attribute.CopyFrom(helper.make_attribute(attribute.name, draw.choice(values)))


def untype_attribute(model, draw):
    draw.choice(node_of(model, draw).attribute).type = draw.choice([0, 1, 2, 3, 4, 5])


def drop_attribute(model, draw):
    node = node_of(model, draw)
    del node.attribute[draw.randrange(len(node.attribute)) if node.attribute else 0]


def add_attribute(model, draw):
    name = draw.choice(["axis", "axes", "keepdims", "to", "perm", "unheard_of"])
    value = draw.choice([1, -7, 0.5, "text", [0, 1]])
    node_of(model, draw).attribute.append(helper.make_attribute(name, value))


def retype_port(model, draw):
    port = draw.choice([*model.graph.input, *model.graph.output])
    port.type.tensor_type.elem_type = draw.choice([0, 1, 6, 7, 8, 9, 10, 11, 14, 16, 99])


def resize_port(model, draw):
    draw.choice(draw.choice(model.graph.input).type.tensor_type.shape.dim).dim_value = draw.choice(SIZES)


def name_size(model, draw):
    draw.choice(draw.choice(model.graph.input).type.tensor_type.shape.dim).dim_param = draw.choice(["N", "", "a b"])


def rerank_port(model, draw):
    shape = draw.choice(model.graph.input).type.tensor_type.shape
    shape.dim.pop() if shape.dim and draw.random() < 0.5 else shape.dim.add(dim_value=draw.choice(SIZES[:4]))


def unshape_port(model, draw):
    draw.choice(model.graph.input).type.tensor_type.ClearField("shape")


def rename_port(model, draw):
    names = [port.name for port in (*model.graph.input, *model.graph.output)] + ["x\ny", "stranger"]
    draw.choice([*model.graph.input, *model.graph.output]).name = draw.choice(names)


def change_tensor(tensor, draw):
    which = draw.randrange(4)
    if which == 0 and tensor.raw_data:
        tensor.raw_data = tensor.raw_data[: draw.randrange(len(tensor.raw_data))]
    elif which == 1:
        tensor.dims[:] = [draw.choice(SIZES) for _ in range(draw.randrange(4))]
    elif which == 2:
        tensor.data_type = draw.choice([0, 1, 6, 7, 8, 9, 11, 99])
    else:
        tensor.data_location = TensorProto.EXTERNAL


def change_weight(model, draw):
    return change_tensor(draw.choice(model.graph.initializer), draw)


def rename_weight(model, draw):
    draw.choice(model.graph.initializer).name = draw.choice(["stranger", *(port.name for port in model.graph.input)])


def change_version(model, draw):
    draw.choice(model.opset_import).version = draw.choice([0, 1, 6, 9, 11, 13, 18, 21, 1000, -3])


def change_domain(model, draw):
    draw.choice([*model.opset_import, node_of(model, draw)]).domain = draw.choice(["", "ai.onnx.ml", "com.example"])


def clear_outputs(model, draw):
    del model.graph.output[:]


MUTATIONS = {
    function.__name__: function
    for function in (
        drop_input, swap_inputs, add_input, rename_input, rename_output, drop_output, drop_node, move_node, repeat_node,
        change_operator, change_attribute, change_attribute, retype_attribute, untype_attribute, drop_attribute,
        add_attribute, retype_port, resize_port, name_size, rerank_port, unshape_port, rename_port, change_weight,
        rename_weight, change_version, change_domain, clear_outputs,
    )
}  # fmt: skip
