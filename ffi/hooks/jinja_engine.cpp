// Puts the engine in the place of common/jinja's: a program of one statement, which renders the whole template.

#include "jinja_engine.h"

#include "jinja_runner.h"
#include "template_marks.h"

namespace {

using namespace svc::j2;

struct whole_template : jinja::statement {
    std::shared_ptr<const syntax_tree> tree;
    explicit whole_template(std::shared_ptr<const syntax_tree> tree) : tree(std::move(tree)) { pos = 0; }
    std::string type() const override { return "Template"; }
    jinja::value execute_impl(jinja::context & context) const override {
        const svc::renderings * const options = svc::current_renderings();
        machine m(context, options != nullptr && options->manner.forgiving);
        try {
            return string_of(runner(*tree, m).rendered());
        } catch (const template_refusal & refusal) {
            throw svc::template_exception(std::string("Jinja Exception: ") + refusal.what(), true);
        } catch (const std::exception & fault) {
            throw svc::template_exception("Template fault: " + located(tree->source, m.at, fault.what()), false);
        }
    }
};

}  // namespace

jinja::program svc::parsed_template(const std::string & source) {
    jinja::statements body;
    body.push_back(std::make_unique<whole_template>(parsed(source)));
    return jinja::program(std::move(body));
}
