// A module in text form that uses every operation of the Graph IR.
#pragma once

#include <string_view>

namespace smelt {

/// Nodes of every operation of ops.def, with attributes, names, sources and comments.
inline constexpr std::string_view kEveryOperation = R"(
// A comment, and a line of RUN: nothing
mesh {data = 2, model = 4, pipe = 1}
symbols B <= 4, T <= 16, B*T <= 32
description "{\"model\": \"hand written\"}\n"
parameter "w" {init = normal(0.02, 7), decay = false, checkpoint = ["a.w", "b.w"], transposed = true} : f32[12,8]
parameter "bias" {init = value(0.5)} : f32[12]
parameter "gain" : f32[8] on [model]
state "gradients" {role = gradient} : f32[48] on [data] partial [model] {
  segment "w" {init = uniform(0.1), checkpoint = ["a.w"], transposed = true} : [3,8] at 0
  segment "bias" {decay = false} : [12] at 32
}
state "cache" : f32[4,16,8]
graph @every(%x: f32[B,T,8], %ids "token ids": i32[B,T] "inputs" {optional = true}, %q: f32[B,T,2,4] on [data, -, -, model + pipe]) {
  %w = parameter "w" "h.0.fc" : f32[12,8]
  %bias = parameter "bias"
  %gain = parameter "gain"
  %new = parameter "declared here" {init = normal(1.0), decay = false} : f32[5,8]
  %step = state "step" {role = state, init = value(3)} : f32[]
  %old = state "cache"
  %c = constant {value = 1} : f32[B,T,8]; %table = constant {values = [1, 2.5, -3e-2, inf, -inf]} : f32[5]
  %i = iota {axis = 1} : i32[B,T]
  %r = random {id = 11} : i32[B,T,8]
  %sum = add %x, %c
  %half = convert %sum : bf16[B,T,8]
  %wide = convert %half "h.0" {phase = backward} : f32[B,T,8]
  %m, %s = reduce max_sumexp %wide {axes = [2]} : f32[B,T], f32[B,T]
  %top, %at = reduce argmax %wide {axes = [1, 2]}
  %spread = broadcast %m {axes = [0, 1]} : f32[B,T,8]
  %flat = reshape %spread : f32[B*T,8]
  %turned = transpose %flat {permutation = [1, 0]}
  %last = slice %x {axis = 1, begin = T - 1} : f32[B,1,8]
  %both = concat %x, %x {axis = 1}
  %g1 = reduce add %both {axes = [0, 1, 2]}
  %gw = constant {value = 0.5} : f32[3,8]
  %packed = pack %gw, %bias {state = "gradients"} : f32[48]
  update %packed {state = "gradients"}
  %rows = gather %new, %i {axis = 0}
  %back = scatter_add %new, %i, %rows {axis = 0}
  %put = scatter %new, %i, %rows {axis = 0, unique = true}
  %slid = windows %w {axis = 0, size = 3, step = 2, dilation = 2} : f32[4,3,8]
  %skipped = strided_slice %w {axis = 0, begin = 1, step = 3} : f32[4,8]
  %padded = pad %x {axis = 1, low = 2, high = T, value = 0.5} : f32[B,2*T + 2,8]
  %kernel = constant {value = 0.5} : f32[6,4,3]
  %image = constant {value = 0.5} : f32[B,8,9]
  %convolved = conv %image, %kernel {strides = [2], pads = [1, 1], dilations = [2], groups = 2} : f32[B,6,4]
  %sorted, %origins = sort %x {descending = true} : f32[B,T,8], i32[B,T,8]
  %counts = scan %i {axis = 1, exclusive = true, kind = "add"}
  %best, %places = top_k %x {k = 3} : f32[B,T,3], i32[B,T,3]
  %three = constant {value = 0.5} : f32[B,T,3]
  %four = constant {value = 7} : i32[B,T,4]
  %token, %log = sample %x, %three, %four : i32[B,T], f32[B,T]
  %codes = constant {value = 7} : u8[B,T,16]
  %steps = constant {value = 0.5} : f32[B,T,2]
  %zeros = constant {value = 3} : i8[B,T,2]
  %numbers = dequantize %codes, %steps, %zeros {format = "int4"} : f32[B,T,32]
  %y = matmul %x, %w "h.0.fc" {spec = "btc,oc->bto"}
  %my, %mz = matmul %half, %half (%p, %1 "add this" = %x) "h.0.fc" {spec = "btc,btd->bcd"} {
    %square = mul %p, %p
    %all = reduce add %1 {axes = [0, 1, 2]}
    return %square, %all
  }
  %kv = constant {value = 2.0} : f32[4,1,8]
  %place = constant {value = 3} : i32[]
  update %kv, %place {state = "cache", axis = 1}
  %inserted = insert %old, %kv, %place {axis = 1}
  %stopped = stop_gradient %y
  %all = collective %stopped {kind = "all_reduce", axis = "data", sum = "max"} : f32[B,T,12] on [-, model, -]
  %rs = collective %all {kind = "reduce_scatter", axis = "data", dim = 2} : f32[B,T,6] on [-, -, data]
  %ag = collective %rs {kind = "all_gather", axis = "data", dim = 0} : f32[2*B,T,6]
  %a2a = collective %ag {kind = "all_to_all", axis = "data", dim = 1, to = 0} : f32[B,2*T,6]
  %mine = slice %ag {axis = 0, begin = data.rank*B} : f32[B,T,6] on [data, -, -] partial [pipe]
  %f1, %f2 = fusion (%a = %sum, %1 "b" = %spread) "h.0.ln" {phase = forward} {
    %0 = sub %a, %1
    %exp = exp %0 : f32[B,T,8]
    %2 = reduce add %exp {axes = [2]}
    return %exp, %2
  } : f32[B,T,8], f32[B,T]
  %named = fusion (%a = %f2) { %v = neg %a return "a name" = %v }
  %lin = linear %x, %w, %bias
  %ein = einsum %x {spec = "btc->bt"}
  %so = softmax %lin "h.0.attention"
  %ls = log_softmax %lin
  %ln = layer_norm %x, %gain, %gain {eps = 1e-05}
  %rn = rms_norm %x, %gain {eps = 1e-05}
  %ge = gelu %x
  %gt = gelu_tanh %x
  %ws = with_slopes %gt, %x, %ge
  %si = silu %x
  %dr = dropout %x {p = 0.1, id = 12}
  %em = embedding %new, %i
  %at2, %at3 = attention %q, %q, %q {scale = 0.5}
  %spread2 = constant {value = 0.5} : f32[B,2,T,T]
  %at4, %at5 = attention %q, %q, %q (%score, %1 "bias" = %spread2) "h.0.attention" {scale = 0.5} {
    %s2 = add %score, %1
    return %s2
  }
  %dq, %dk, %dv = attention_grad %q, %q, %q, %at4 (%score, %product, %lse = %at5) {scale = 0.5} {
    %l2 = broadcast %lse {axes = [0, 1, 2]} : f32[B,2,T,T]
    %w2 = sub %score, %l2
    %w3 = exp %w2
    %w4 = mul %w3, %product
    return %w3, %w4
  }
  %ct = cotangent {id = 3} : f32[B,T,8]
  %halved = mul %ct, %x
  %cv = custom_vjp %x, %ct, %x, %halved {results = 1}
  %ce = cross_entropy %lin, %ids {label_smoothing = 0.1, ignore_index = -100}
  return loss = %ce, "an output" = %f2, named = %named, again = %ce
}

graph @empty() {
}
)";

}  // namespace smelt
