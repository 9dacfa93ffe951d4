//! Items that have no body that could be timed.
use stepscope::profile;

#[profile]
struct Model;

#[profile]
const LAYERS: usize = 3;

#[profile]
const fn size() -> usize {
    LAYERS
}

#[profile]
unsafe fn raw() {}

#[profile]
extern "C" fn callback() {}

#[profile]
impl Model {
    pub const fn new() -> Self {
        Self
    }

    #[profile(fields)]
    fn fields(&self) {}

    #[profile]
    #[profile]
    fn twice(&self) {}

    fn fine(&self) {}
}

#[profile]
trait Layer {
    #[profile(phase = Forward)]
    fn forward(&self);

    fn fine(&self) -> Self;
}

fn main() {
    size();
    callback();
    unsafe { raw() };
    let model = Model::new();
    model.fields();
    model.twice();
    model.fine();
}
