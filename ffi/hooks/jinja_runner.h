// Executes a template.
#pragma once

#include "jinja_machine.h"
#include "jinja_syntax.h"

#include <memory>
#include <string>
#include <vector>

namespace svc::j2 {

// Variables of a part of a template. Parts within see those around them.
struct names {
    std::shared_ptr<names> around;
    std::vector<std::pair<uint32_t, value>> own;
};
using names_ptr = std::shared_ptr<names>;

struct loop_items;

class runner {
  public:
    runner(const syntax_tree & tree, machine & m);
    runner(const runner &) = delete;
    ~runner();

    text rendered();

  private:
    friend struct macro_t;
    friend struct loop_t;
    enum class flow { on, left, again };

    const syntax_tree & tree;
    machine & m;
    names_ptr here;
    uint32_t loop_symbol;  // of `loop`; UINT32_MAX: the template does not use it
    std::vector<value> outside;  // of each symbol: a variable of the request or a function; nullptr: not looked for yet
    std::vector<std::weak_ptr<names>> captured;  // by macros, which those names may hold in turn

    // While it exists, names are set in a part of their own.
    struct part {
        runner & r;
        names_ptr before;
        part(runner & r, names_ptr around) : r(r), before(std::move(r.here)) { r.here = std::make_shared<names>(names{std::move(around), {}}); }
        explicit part(runner & r) : part(r, r.here) {}
        part(const part &) = delete;
        ~part() { r.here = std::move(before); }
    };

    value lookup(uint32_t symbol);
    void set(uint32_t symbol, const value & to);
    void assign(const node & target, const value & to);

    value eval(const node & of);
    value compared(const node & of);
    value called_node(const node & of);
    value filtered(const node & of);
    value filtered(const node & of, value input);
    value filtered_block(const node & of, text made);
    value tested(const node & of);
    value dict(const node & of);
    call_values arguments(const node & of, size_t first);

    flow run(const nodes & all, text_writer & out);
    flow run(const node & one, text_writer & out);
    flow run_loop(const node & of, text_writer & out);
    flow loop_over(const node & of, loop_items items, text_writer & out, int64_t depth);
    loop_items items_of(const node & of);
    std::vector<value> selected(const node & of, const value & iterable);
    flow run_scope(const node & of, text_writer & out);
    text block(const nodes & body);
    value macro_of(const node & of);
    void print(const value & of, text_writer & out);
};

}  // namespace svc::j2
