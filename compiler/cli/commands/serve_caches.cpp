#include "compiler/cli/commands/serve_caches.h"

#include <algorithm>

#include "compiler/cli/shared/text_table.h"
#include "runtime/base/error.h"
#include "runtime/plan/decode_contract.h"

namespace smelt::cli {
namespace {

constexpr int64_t kMostPages = int64_t{1} << 26;

/// A model whose caches are one page.
struct OnePage {
  int64_t bytes = 0;       // of keys and values
  int64_t slots_take = 0;  // pages of B slots of T tokens
};

/// Returns the bytes of a state on one rank, where several have parts of it.
int64_t rank_bytes(const Module& module, const State& state) {
  int64_t parts = 1;
  for (const auto& axes : state.cut)
    for (const std::string& name : axes)
      if (const auto axis = module.mesh().find(name)) parts *= module.mesh().axes[*axis].size;
  return module.symbols.upper(element_count(state.shape)) * size_of(state.dtype) / parts;
}

/// Returns the size of a page; nothing where the model has no caches in pages.
std::optional<OnePage> one_page_of(const Model& model, CompileOptions options) {
  options.build.cache_pages = 1, options.build.has_sampler = false, options.build.step_tokens = 0;
  if (!model.spec() || !keeps_caches(*model.spec(), build_options(options))) return std::nullopt;
  const std::unique_ptr<Module> module = build_transformer(*model.spec(), build_options(options));
  OnePage page;
  for (const State& state : module->states)
    if (state.role == Role::cache) page.bytes += rank_bytes(*module, state);
  const int64_t tokens = module->symbols.upper(Dim::symbol("T"));
  page.slots_take = module->symbols.upper(Dim::symbol("B")) * ((tokens + kPageTokens - 1) / kPageTokens);
  return page;
}

/// Returns the bytes of a page of the model that makes drafts; 0 if it is a plan, whose caches are fixed.
int64_t draft_page_bytes(const Model& draft, CompileOptions options) {
  if (!draft.spec()) return 0;
  options.build.bounds = {{{"B"}, 1}, {{"T"}, kPageTokens}};
  const std::optional<OnePage> page = one_page_of(draft, options);
  return page ? page->bytes : 0;
}

int64_t pages_in(uint64_t bytes, const OnePage& page) {
  const uint64_t pages = bytes / static_cast<uint64_t>(page.bytes);
  if (pages == 0)
    fail("--cache-memory={}: a page of {} tokens takes {} bytes; give at least that", bytes, kPageTokens,
         page.bytes);
  return static_cast<int64_t>(std::min(pages, static_cast<uint64_t>(kMostPages)));
}

}  // namespace

void CacheFlags::add_to(CLI::App& app) {
  CLI::Option* memory =
      app.add_option(
             "--cache-memory", bytes_,
             "memory for keys and values, in bytes or with K, M or G: the caches are as many pages of "
             "16 tokens, which requests share; default: what --slots slots of T tokens would take")
          ->transform(CLI::AsSizeValue(false));
  app.add_option("--cache-pages", pages_,
                 "the same as a number of pages; 0: a slot of T tokens for each request, and no pages")
      ->check(CLI::Range(int64_t{0}, kMostPages))
      ->excludes(memory);
}

void CacheFlags::apply(const Model& model, CompileOptions& options, const Model* draft) const {
  if (asked() && !model.description)
    fail("{}: a plan has its caches already; compile it with --cache-pages=", model.path.string());
  std::optional<OnePage> page = one_page_of(model, options);
  if (page && draft) page->bytes += draft_page_bytes(*draft, options);
  if (!page && (bytes_ || pages_.value_or(0) > 0))
    fail("--cache-{}: {} has no caches in pages", bytes_ ? "memory" : "pages", model.path.string());
  if (pages_)
    options.build.cache_pages = *pages_;
  else if (page)
    options.build.cache_pages = bytes_ ? pages_in(*bytes_, *page) : page->slots_take;
}

}  // namespace smelt::cli
