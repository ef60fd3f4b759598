// Reads statements, and checks that the names of a template are known.

#include "jinja_machine.h"
#include "jinja_parser.h"

#include <algorithm>
#include <set>

namespace svc::j2 {

nodes parser::all() {
    nodes out = statements({});
    if (now().type != token_type::end) fail("unexpected " + described());
    return out;
}

// Statements up to a block that begins with one of `ends`, whose name is then the present token.
nodes parser::statements(std::initializer_list<const char *> ends) {
    const level deeper(*this);
    nodes out;
    for (;;) {
        switch (now().type) {
            case token_type::end:
                if (ends.size() > 0) fail(std::string("unexpected end of template, expected '") + *(ends.end() - 1) + "'");
                return out;
            case token_type::data: {
                node_ptr data = constant_node(string_of(tokens[place].text));
                data->what = op::output;
                place++;
                out.push_back(std::move(data));
                break;
            }
            case token_type::print_begin: {
                node_ptr print = made(op::print);
                place++;
                print->parts.push_back(tuple(true, false, nullptr));
                if (now().type != token_type::print_end) fail("expected end of print statement, got " + described());
                place++;
                out.push_back(std::move(print));
                break;
            }
            default:
                place++;
                if (std::any_of(ends.begin(), ends.end(), [&](const char * end) { return is_name(end); })) return out;
                if (node_ptr one = statement()) out.push_back(std::move(one));
        }
    }
}

void parser::end_block() {
    if (now().type != token_type::block_end) fail("expected end of statement block, got " + described());
    place++;
}

node_ptr parser::statement() {
    static const std::set<std::string> inheritance = {"block", "extends", "include", "import", "from"};
    if (now().type != token_type::name) fail("tag name expected, got " + described());
    const std::string tag = now().text;
    if (tag == "if") return branch();
    if (tag == "for") return loop();
    if (tag == "set") return assignment();
    if (tag == "macro") return macro();
    if (tag == "call") return call_block();
    if (tag == "filter") return filter_block();
    if (tag == "with") return scope();
    if (tag == "generation") {
        place++;
        end_block();
        return body_of(op::scope, "endgeneration");
    }
    if (tag == "break") return leave(op::leave);
    if (tag == "continue") return leave(op::again);
    if (tag == "do") {
        place++;
        node_ptr out = made(op::evaluate, tuple(true, false, nullptr));
        end_block();
        return out;
    }
    if (inheritance.count(tag) > 0) fail("'" + tag + "' is not supported: a chat template is one file");
    fail("Encountered unknown tag '" + tag + "'");
}

node_ptr parser::leave(op what) {
    node_ptr out = made(what);
    if (loops == 0) fail("'" + now().text + "' outside of a loop");
    place++;
    end_block();
    return out;
}

// The body of a block whose beginning is read, and its end.
node_ptr parser::body_of(op what, const char * end) {
    node_ptr out = made(what);
    out->body = statements({end});
    place++;
    end_block();
    return out;
}

node_ptr parser::branch() {
    node_ptr out = made(op::branch);
    place++;
    out->parts.push_back(tuple(false, false, nullptr));
    end_block();
    out->body = statements({"elif", "else", "endif"});
    if (is_name("elif")) {
        const level deeper(*this);
        out->otherwise.push_back(branch());
        return out;
    }
    if (took_name("else")) {
        end_block();
        out->otherwise = statements({"endif"});
    }
    place++;
    end_block();
    return out;
}

// What a loop or an assignment sets: a name, a tuple of them, or an attribute of a namespace.
node_ptr parser::target(bool with_attributes) {
    const level deeper(*this);
    node_ptr out = made(op::tuple);
    bool is_tuple = false;
    for (;;) {
        if (is_name("in") || is_sign("=") || is_sign(")") || now().type == token_type::block_end) break;
        if (took_sign("(")) {
            out->parts.push_back(target(with_attributes));
            expect_sign(")");
        } else {
            static const std::set<std::string> constants = {"true", "false", "none", "True", "False", "None"};
            if (constants.count(now().text) > 0) fail("can't assign to '" + now().text + "'");
            const std::string name = any_name();
            node_ptr one = name_node(name);
            if (with_attributes && took_sign(".")) {
                one = made(op::attribute, std::move(one));
                one->name = any_name();
            }
            out->parts.push_back(std::move(one));
        }
        if (!took_sign(",")) break;
        is_tuple = true;
    }
    if (out->parts.empty()) fail("expected a name, got " + described());
    return is_tuple ? std::move(out) : std::move(out->parts[0]);
}

node_ptr parser::loop() {
    node_ptr out = made(op::loop);
    expect_name("for");
    out->parts.push_back(target(false));
    expect_name("in");
    out->parts.push_back(tuple(false, false, "recursive"));
    out->parts.push_back(took_name("if") ? expression() : nullptr);
    out->flag = took_name("recursive");
    end_block();
    loops++;
    out->body = statements({"endfor", "else"});
    loops--;
    if (took_name("else")) {
        end_block();
        out->otherwise = statements({"endfor"});
    }
    place++;
    end_block();
    return out;
}

node_ptr parser::assignment() {
    node_ptr out = made(op::assign);
    expect_name("set");
    out->parts.push_back(target(true));
    if (took_sign("=")) {
        out->parts.push_back(tuple(true, false, nullptr));
        end_block();
        return out;
    }
    out->what = op::assign_block;
    node_ptr block = made(op::constant);
    out->parts.push_back(filters(std::move(block)));
    end_block();
    out->body = statements({"endset"});
    place++;
    end_block();
    return out;
}

void parser::parameters(node & into) {
    expect_sign("(");
    while (!is_sign(")")) {
        if (!into.parameters.empty()) expect_sign(",");
        if (is_sign(")")) break;
        into.parameters.push_back(symbol_of(any_name()));
        if (took_sign("=")) into.parts.push_back(expression());
        else if (!into.parts.empty()) fail("non-default argument follows default argument");
    }
    expect_sign(")");
}

namespace {

template <class Each>
void walk(const node & of, const Each & each) {
    each(of);
    for (const nodes * list : {&of.parts, &of.body, &of.otherwise}) {
        for (const node_ptr & one : *list) {
            if (one != nullptr) walk(*one, each);
        }
    }
    for (const auto & [name, one] : of.named) walk(*one, each);
    for (const node_ptr * one : {&of.more_list, &of.more_named}) {
        if (*one != nullptr) walk(**one, each);
    }
}

}  // namespace

// Which of varargs, kwargs and caller a macro's body uses.
void parser::note_uses(node & macro) {
    walk(macro, [&](const node & one) {
        if (one.what != op::name || (one.name != "varargs" && one.name != "kwargs" && one.name != "caller")) return;
        if (std::find(macro.signs.begin(), macro.signs.end(), one.name) != macro.signs.end()) return;
        macro.signs.push_back(one.name);
        symbol_of(one.name);
    });
}

node_ptr parser::macro() {
    node_ptr out = made(op::macro);
    expect_name("macro");
    out->name = any_name();
    out->symbol = symbol_of(out->name);
    parameters(*out);
    end_block();
    const int around = std::exchange(loops, 0);
    out->body = statements({"endmacro"});
    loops = around;
    place++;
    end_block();
    note_uses(*out);
    return out;
}

node_ptr parser::call_block() {
    node_ptr out = made(op::call_block);
    node_ptr caller = made(op::macro);
    expect_name("call");
    if (is_sign("(")) parameters(*caller);
    out->parts.push_back(expression());
    if (out->parts[0]->what != op::call) fail("expected call");
    end_block();
    caller->name = "caller";
    const int around = std::exchange(loops, 0);
    caller->body = statements({"endcall"});
    loops = around;
    place++;
    end_block();
    note_uses(*caller);
    symbol_of("caller");
    out->body.push_back(std::move(caller));
    return out;
}

node_ptr parser::filter_block() {
    node_ptr out = made(op::filter_block);
    expect_name("filter");
    node_ptr block = made(op::constant);
    out->parts.push_back(filters(filter(std::move(block))));
    end_block();
    out->body = statements({"endfilter"});
    place++;
    end_block();
    return out;
}

node_ptr parser::scope() {
    node_ptr out = made(op::scope);
    expect_name("with");
    while (now().type != token_type::block_end) {
        if (!out->parts.empty()) expect_sign(",");
        out->parts.push_back(target(false));
        expect_sign("=");
        out->parts.push_back(expression());
    }
    end_block();
    out->body = statements({"endwith"});
    place++;
    end_block();
    return out;
}

std::shared_ptr<const syntax_tree> parsed_tokens(syntax_tree tree, std::vector<token> tokens) {
    auto out = std::make_shared<syntax_tree>(std::move(tree));
    out->body = parser(*out, std::move(tokens)).all();
    check_names(*out);
    return out;
}

namespace {

// Names that a template gives a value to, or uses otherwise than by calling them: it may know what it does.
class known_names {
  public:
    explicit known_names(const syntax_tree & tree) {
        for (const node_ptr & one : tree.body) walk(*one, [&](const node & of) { note(of); });
        for (const node_ptr & one : tree.body) walk(*one, [&](const node & of) { note_parameters(of, tree); });
        for (const auto & [name, n] : uses) {
            if (n > calls[name]) names.insert(name);
        }
    }
    bool has(const std::string & name) const { return names.count(name) > 0; }

  private:
    std::set<std::string> names = {"loop", "caller", "varargs", "kwargs"};
    std::map<std::string, int> uses, calls;

    void note(const node & of) {
        if (of.what == op::name) uses[of.name]++;
        if (of.what == op::call && of.parts[0]->what == op::name) calls[of.parts[0]->name]++;
        if (of.what == op::macro) names.insert(of.name);
    }
    void note_parameters(const node & of, const syntax_tree & tree) {
        for (const uint32_t symbol : of.parameters) names.insert(tree.symbols[symbol]);
    }
};

// Filters and tests that map(), select() and their kin are given by name.
template <class Refuse>
void check_chosen(const node & of, const Refuse & refuse) {
    if (of.what != op::filter) return;
    const bool maps = of.name == "map", selects = of.name == "select" || of.name == "reject";
    const size_t at = maps || selects ? 1 : of.name == "selectattr" || of.name == "rejectattr" ? 2 : SIZE_MAX;
    if (at >= of.parts.size() || of.parts[at]->what != op::constant || !is_string(of.parts[at]->constant)) return;
    const std::string name = of.parts[at]->constant->val_str.str();
    if (maps && filter_named(name) == nullptr) refuse(of, "No filter named '" + name + "'");
    if (!maps && test_named(name) == nullptr) refuse(of, "No test named '" + name + "'");
}

}  // namespace

void check_names(const syntax_tree & tree) {
    const known_names known(tree);
    const auto refuse = [&](const node & of, const std::string & message) { throw syntax_fault(located(tree.source, of.at, message)); };
    const auto check = [&](const node & of) {
        if (of.what == op::filter && of.function == nullptr) refuse(of, "No filter named '" + of.name + "'");
        if (of.what == op::test && of.function == nullptr) refuse(of, "No test named '" + of.name + "'");
        check_chosen(of, refuse);
        if (of.what != op::call) return;
        const node & callee = *of.parts[0];
        if (callee.what == op::name && !known.has(callee.name) && global_named(callee.name) == nullptr) {
            refuse(of, "'" + callee.name + "' is called, but no function is called so");
        }
        if (callee.what == op::attribute && is_missing_method(callee.name)) refuse(of, "the method '" + callee.name + "' is not supported");
    };
    for (const node_ptr & one : tree.body) walk(*one, check);
}

}  // namespace svc::j2
