#include "compiler/python/batch.h"

#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "compiler/python/arrays.h"
#include "compiler/python/bindings.h"
#include "runtime/engine/adapters/adapter_files.h"
#include "runtime/engine/serving/beam_text.h"
#include "runtime/engine/serving/new_tokens.h"

namespace smelt::python {

void BoundBatch::close() {
  released([this] {
    const std::lock_guard lock(bound->busy);
    if (batch) bound->has_batch = false;
    batch.reset();
  });
}

namespace {

/// Arguments of a batch besides its session.
struct BatchArguments {
  ContinuousBatchOptions options;
  std::optional<std::string> tokenizer;  // directory; nothing: that of the model
  bool has_text = true;
};

/// Sets the functions for text, if there is a tokenizer or the model's tokens are bytes.
void open_texts(BoundBatch& made, const BatchArguments& arguments) {
  cli::Model model = model_of(*made.bound->compiled, std::nullopt);
  if (arguments.tokenizer) model.path = *arguments.tokenizer;
  auto texts = std::make_unique<cli::PromptText>(model, made.batch->vocabulary(), true);
  if (!texts->known()) {
    if (arguments.tokenizer) fail("tokenizer: '{}' has no files of a tokenizer", *arguments.tokenizer);
    return;
  }
  made.texts = std::move(texts);
  made.constraints = std::make_unique<structured::TextConstraints>(
      [texts = made.texts.get()] { return texts->token_bytes(); });
}

std::unique_ptr<BoundBatch> open_batch(nb::object session, const BatchArguments& arguments) {
  auto& bound = nb::cast<BoundSession&>(session);
  auto made = std::make_unique<BoundBatch>(std::move(session), bound);
  alone(bound, [&](Session& s) {
    made->batch = std::make_unique<ContinuousBatch>(s, arguments.options);
    bound.has_batch = true;
    bound.generator.reset();  // the batch writes to the caches whose contents it tracks
    made->defaults = model_generation_options(s.plan().model);
    made->defaults.want_one_sequence();
    made->defaults.seed = bound.seed;
    if (arguments.has_text) open_texts(*made, arguments);
  });
  return made;
}

/// Arguments of Batch.submit besides the prompt.
struct RequestArguments {
  std::string options;  // JSON, as in generation_config.json
  std::vector<std::string> stop;
  std::optional<size_t> log_probabilities, prompt_log_probabilities;
  std::optional<std::string> specification;
  size_t index = 0;
  int32_t priority = 0;
  std::optional<std::string> adapter;
};

AdapterStore& adapters_of(ContinuousBatch& batch) {
  if (AdapterStore* const adapters = batch.adapters()) return *adapters;
  fail("adapters: the plan has no slots for them; compile it with adapters=");
}

std::shared_ptr<const ServedAdapter> find_adapter(ContinuousBatch& batch, const std::string& name) {
  AdapterStore& adapters = adapters_of(batch);
  if (auto found = adapters.find(name)) return found;
  fail("adapter: there is no '{}'; there are: {}", name, fmt::join(adapters.names(), ", "));
}

void load_adapter(BoundBatch& bound, const std::string& name, const std::string& directory) {
  in_batch(bound, [&](ContinuousBatch& batch) {
    AdapterStore& adapters = adapters_of(batch);
    const AdapterWeights weights = read_adapter_files(directory, adapters.interface());
    batch.write_adapter(*adapters.add(name), weights);
  });
}

void unload_adapter(BoundBatch& bound, const std::string& name) {
  in_batch(bound, [&](ContinuousBatch& batch) {
    (void)find_adapter(batch, name);
    adapters_of(batch).remove(name);
  });
}

const cli::PromptText& texts_for(const BoundBatch& bound, const char* what) {
  if (!bound.texts) fail("{}: the batch has no tokenizer; give smelt.Batch the directory of one", what);
  return *bound.texts;
}

/// The last tokens of the prompt are the context of the first new ones.
void add_text(const BoundBatch& bound, Request& request) {
  constexpr ptrdiff_t kContext = 256;
  if (!bound.texts) return;
  const std::vector<int32_t>& prompt = request.prompt;
  const std::vector<int32_t> context(prompt.end() - std::min(std::ssize(prompt), kContext), prompt.end());
  const auto begin = [texts = bound.texts.get(), context] {
    TextOfTokens text = texts->stream({});
    for (const int32_t token : context) text(token);
    return text;
  };
  if (request.options.num_beams > 1)
    request.text_of_beam = text_of_beam(begin);
  else
    request.text = begin();
}

Request make_request(const BoundBatch& bound, std::vector<int32_t> prompt, RequestArguments arguments) {
  Request request{.prompt = std::move(prompt), .options = bound.defaults};
  read_generation_options(arguments.options, request.options);
  count_new_tokens(request);
  request.index = arguments.index, request.priority = arguments.priority;
  request.stop = std::move(arguments.stop);
  request.log_probabilities = arguments.log_probabilities;
  request.prompt_log_probabilities = arguments.prompt_log_probabilities;
  add_text(bound, request);
  if (!arguments.specification) return request;
  texts_for(bound, "a specification of the text");
  if (const auto specification = structured::specification_from_json(*arguments.specification))
    request.constrained =
        bound.constraints->text(*specification, request.options.eos_token_id, request.prompt);
  return request;
}

/// Compiles specifications before the batch is locked, so that a long one does not stop its steps.
uint64_t submit(BoundBatch& bound, const std::vector<int32_t>& prompt, const RequestArguments& arguments) {
  return released([&] {
    Request request = make_request(bound, prompt, arguments);
    const std::lock_guard lock(bound.bound->busy);
    if (!bound.batch) fail("the batch was closed");
    if (arguments.adapter) request.adapter = find_adapter(*bound.batch, *arguments.adapter);
    return bound.batch->submit(std::move(request));
  });
}

nb::object text_object(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::object finish_object(Finish finish) {
  constexpr const char* kNames[] = {nullptr, "stop", "length", "cancelled", "failed"};
  const char* name = kNames[static_cast<size_t>(finish)];
  return name ? nb::object(nb::str(name)) : nb::none();
}

/// (id, log-probability, most probable tokens, rank, version of the weights)
nb::tuple token_tuple(const NewToken& token, bool has_log_probability) {
  const bool has = has_log_probability && token.has_log_probability;
  return nb::make_tuple(token.id, has ? nb::object(nb::float_(token.log_probability)) : nb::none(),
                        token.best, token.rank, token.weights_version);
}

nb::list token_list(const std::vector<NewToken>& tokens, bool has_log_probability) {
  nb::list list;
  for (const NewToken& token : tokens) list.append(token_tuple(token, has_log_probability));
  return list;
}

/// (tokens, text, score, reason for the end)
nb::list beam_list(const std::vector<Progress>& beams) {
  nb::list list;
  for (const Progress& beam : beams)
    list.append(nb::make_tuple(token_list(beam.tokens, false), text_object(beam.text), beam.score.value_or(0),
                               finish_object(beam.finish)));
  return list;
}

nb::dict poll(BoundBatch& bound, uint64_t id, bool has_log_probability) {
  const Progress progress = in_batch(bound, [&](ContinuousBatch& batch) { return batch.poll(id); });
  nb::dict dict;
  dict["tokens"] = token_list(progress.tokens, has_log_probability);
  dict["prompt_tokens"] = token_list(progress.prompt, true);
  dict["text"] = text_object(progress.text);
  dict["finish"] = finish_object(progress.finish);
  dict["error"] = text_object(progress.error);
  dict["has_begun"] = progress.has_begun;
  dict["beams"] = beam_list(progress.beams);
  return dict;
}

nb::dict counts(BoundBatch& bound) {
  const ContinuousBatchCounts all = in_batch(bound, [](ContinuousBatch& batch) { return batch.counts(); });
  nb::dict dict;
  const auto set = [&](const char* name, auto value) { dict[name] = value; };
  set("slots", all.slots), set("running", all.running), set("waiting", all.waiting);
  set("steps", all.steps), set("prompt_tokens", all.prompt_tokens), set("new_tokens", all.new_tokens);
  set("plan_tokens", all.plan_tokens), set("draft_tokens", all.draft_tokens);
  set("kept_draft_tokens", all.kept_draft_tokens);
  set("ended", all.ended), set("cancelled", all.cancelled), set("failed", all.failed);
  set("weights_version", all.weights_version), set("weight_updates", all.weight_updates);
  set("cache_bytes", all.cache_bytes);
  set("pages", all.pages.total), set("used_pages", all.pages.used);
  set("shared_pages", all.pages.shared), set("kept_pages", all.pages.kept);
  set("found_pages", all.pages.found);
  return dict;
}

// ---- new weights

/// Returns the arrays in their own memory, or a copy if the update waits.
std::shared_ptr<const Checkpoint> checkpoint_of(const InputArrays& arrays, bool copies) {
  std::vector<TensorView> views;
  std::vector<HostTensor> owned;
  for (const InputTensor& t : arrays.tensors) {
    const auto* data = static_cast<const std::byte*>(t.data);
    const auto bytes = static_cast<size_t>(count_elements(t.shape) * size_of(t.dtype));
    if (copies)
      owned.push_back({t.name, t.dtype, t.shape, {data, data + bytes}});
    else
      views.push_back({t.name, t.dtype, t.shape, {data, bytes}});
  }
  return std::make_shared<const Checkpoint>(copies ? Checkpoint::of(std::move(owned), "the update's")
                                                   : Checkpoint::view(std::move(views), "the update's"));
}

void update_weights(BoundBatch& bound, const nb::dict& arrays, std::optional<uint64_t> version,
                    bool keep_prefixes, bool wait) {
  const InputArrays given = input_arrays(arrays);
  in_batch(bound, [&](ContinuousBatch& batch) {
    batch.update_weights({checkpoint_of(given, wait), version, keep_prefixes, wait});
  });
}

void copy_weights(BoundBatch& bound, BoundSession& from, std::optional<uint64_t> version, bool keep_prefixes,
                  bool wait) {
  if (bound.bound == &from) fail("new weights: expected another session than that of the batch");
  const auto weights = for_reading(from, [](const Session& session) { return copied_weights(session); });
  in_batch(bound,
           [&](ContinuousBatch& batch) { batch.update_weights({weights, version, keep_prefixes, wait}); });
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<BoundBatch>(module, "Batch")
      .def("encode",
           [](const BoundBatch& bound, const std::string& text) {
             return released([&] { return texts_for(bound, "a prompt of text").encode(text); });
           })
      .def(
          "submit",
          [](BoundBatch& bound, const std::vector<int32_t>& prompt, std::string options,
             std::vector<std::string> stop, std::optional<size_t> log_probabilities,
             std::optional<size_t> prompt_log_probabilities, std::optional<std::string> specification,
             size_t index, int32_t priority, std::optional<std::string> adapter) {
            return submit(bound, prompt,
                          {std::move(options), std::move(stop), log_probabilities, prompt_log_probabilities,
                           std::move(specification), index, priority, std::move(adapter)});
          },
          nb::arg("prompt"), nb::kw_only(), nb::arg("options"), nb::arg("stop"),
          nb::arg("log_probabilities").none(), nb::arg("prompt_log_probabilities").none(),
          nb::arg("specification").none(), nb::arg("index"), nb::arg("priority"), nb::arg("adapter").none())
      .def("step",
           [](BoundBatch& bound) { return in_batch(bound, [](auto& batch) { return batch.step(); }); })
      .def("poll", poll)
      .def("cancel", [](BoundBatch& bound,
                        uint64_t id) { in_batch(bound, [&](ContinuousBatch& batch) { batch.cancel(id); }); })
      .def("counts", counts)
      .def("limits",
           [](BoundBatch& bound) {
             return in_batch(bound, [](ContinuousBatch& batch) {
               return std::vector<int64_t>{batch.vocabulary(), static_cast<int64_t>(batch.capacity()),
                                           static_cast<int64_t>(batch.most_requests())};
             });
           })
      .def("update_weights", update_weights, nb::arg(), nb::arg("version").none(), nb::arg("keep_prefixes"),
           nb::arg("wait"))
      .def("copy_weights", copy_weights, nb::arg(), nb::arg("version").none(), nb::arg("keep_prefixes"),
           nb::arg("wait"))
      .def("update_waits",
           [](BoundBatch& bound) {
             return in_batch(bound, [](ContinuousBatch& batch) { return batch.update_waits(); });
           })
      .def("load_adapter", load_adapter)
      .def("unload_adapter", unload_adapter)
      .def("adapters",
           [](BoundBatch& bound) {
             return in_batch(bound, [](ContinuousBatch& batch) {
               return batch.adapters() ? batch.adapters()->names() : std::vector<std::string>();
             });
           })
      .def("close", &BoundBatch::close);
  module.def(
      "open_batch",
      [](nb::object session, size_t slots, size_t most_waiting, size_t chunk, size_t draft,
         std::optional<size_t> ahead, bool prepares, bool shares_prefixes, bool plan_samples,
         std::optional<std::string> tokenizer, bool has_text) {
        const ContinuousBatchOptions options{.slots = slots,
                                             .most_waiting = most_waiting,
                                             .chunk = chunk,
                                             .shares_prefixes = shares_prefixes,
                                             .prepares = prepares,
                                             .plan_chooses = plan_samples,
                                             .ahead = ahead,
                                             .draft = draft};
        return open_batch(std::move(session), {options, std::move(tokenizer), has_text});
      },
      nb::arg("session"), nb::kw_only(), nb::arg("slots"), nb::arg("most_waiting"), nb::arg("chunk"),
      nb::arg("draft"), nb::arg("ahead").none(), nb::arg("prepares"), nb::arg("shares_prefixes"),
      nb::arg("plan_samples"), nb::arg("tokenizer").none(), nb::arg("has_text"));
}

}  // namespace smelt::python
