//! Gradients against finite differences, and layers against values worked out by hand.

use ndarray::{Array2, arr2};

use super::*;

fn random_matrix(shape: (usize, usize), seed: u64) -> Array2<f32> {
    let mut random = Random::new(seed, Stream::Split, 1);
    Array2::from_shape_simple_fn(shape, || random.symmetric(1.0))
}

/// Sum of an output weighted by `by`: a scalar whose gradient with respect to the output is `by`.
fn weighted(output: &Array2<f32>, by: &Array2<f32>) -> f64 {
    output.iter().zip(by).map(|(&value, &weight)| f64::from(value) * f64::from(weight)).sum()
}

/// Compares `analytic` with central differences of `scalar` at `matrix`, at no more than 60 elements.
fn check(
    name: &str,
    matrix: &Array2<f32>,
    analytic: &Array2<f32>,
    step: f32,
    scalar: impl Fn(&Array2<f32>) -> f64,
) {
    assert_eq!(matrix.dim(), analytic.dim(), "{name}");
    let largest = analytic.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    assert!(largest > 0.0, "{name}: no gradient at all");
    let stride = matrix.len().div_ceil(60);
    for (index, gradient) in analytic.indexed_iter().step_by(stride) {
        let at = |offset: f32| {
            let mut moved = matrix.clone();
            moved[index] += offset;
            // What was really added, after rounding.
            (scalar(&moved), f64::from(moved[index]))
        };
        let ((above, high), (below, low)) = (at(step), at(-step));
        let numeric = (above - below) / (high - low);
        let error = (numeric - f64::from(*gradient)).abs();
        assert!(error < 2e-3 * f64::from(largest).max(0.1), "{name} at {index:?}: {numeric} but {gradient}");
    }
}

#[test]
fn convolution_gradients_match_finite_differences() {
    let conv = |weight: &Array2<f32>, bias: &Array2<f32>| {
        let mut conv = Conv::new(2, 3, &mut Random::new(1, Stream::Weights, 0));
        conv.weight.value.assign(weight);
        conv.bias.value.assign(bias);
        conv
    };
    let (weight, bias) = (random_matrix((3, 18), 1), random_matrix((3, 1), 2));
    let (input, by) = (random_matrix((2, 2 * PIXELS), 3), random_matrix((3, 2 * PIXELS), 4));
    let mut layer = conv(&weight, &bias);
    layer.forward(&input);
    layer.parameter_gradients(&by);
    let input_gradient = layer.input_gradient(&by);

    // The layer is linear in each argument, so a large step costs no accuracy.
    check("weight", &weight, &layer.weight.gradient, 0.5, |w| weighted(&conv(w, &bias).forward(&input), &by));
    check("bias", &bias, &layer.bias.gradient, 0.5, |b| weighted(&conv(&weight, b).forward(&input), &by));
    check("input", &input, &input_gradient, 0.5, |x| weighted(&conv(&weight, &bias).forward(x), &by));
}

#[test]
fn a_convolution_adds_up_its_neighbourhood_and_sees_zeros_outside() {
    let mut conv = Conv::new(1, 1, &mut Random::new(1, Stream::Weights, 0));
    conv.weight.value.fill(1.0);
    conv.bias.value.fill(0.5);
    let output = conv.forward(&Array2::ones((1, PIXELS)));
    assert_eq!((output[[0, 0]], output[[0, 1]], output[[0, 9]]), (4.5, 6.5, 9.5));
    assert_eq!((output[[0, 63]], output[[0, 62]]), (4.5, 6.5));
    // A single weight in the kernel's upper left corner moves the image down and right.
    conv.weight.value.fill(0.0);
    conv.weight.value[[0, 0]] = 1.0;
    let input = Array2::from_shape_fn((1, PIXELS), |(_, pixel)| pixel as f32);
    let output = conv.forward(&input);
    assert_eq!((output[[0, 0]], output[[0, 9]], output[[0, 63]]), (0.5, 0.5, 54.5));
    assert_eq!(output[[0, 15]], 6.5);
}

#[test]
fn dense_gradients_match_finite_differences() {
    let dense = |weight: &Array2<f32>, bias: &Array2<f32>| {
        let mut dense = Dense::new(6, 4, &mut Random::new(1, Stream::Weights, 0));
        dense.weight.value.assign(weight);
        dense.bias.value.assign(bias);
        dense
    };
    let (weight, bias) = (random_matrix((4, 6), 1), random_matrix((4, 1), 2));
    let (input, by) = (random_matrix((5, 6), 3), random_matrix((5, 4), 4));
    let mut layer = dense(&weight, &bias);
    layer.forward(input.clone());
    layer.parameter_gradients(&by);
    check("weight", &weight, &layer.weight.gradient, 0.5, |w| {
        weighted(&dense(w, &bias).forward(input.clone()), &by)
    });
    check("bias", &bias, &layer.bias.gradient, 0.5, |b| {
        weighted(&dense(&weight, b).forward(input.clone()), &by)
    });
    let input_gradient = layer.input_gradient(&by);
    check("input", &input, &input_gradient, 0.5, |x| {
        weighted(&dense(&weight, &bias).forward(x.clone()), &by)
    });
}

/// Values a tenth and more apart from each other and from zero, so that no difference crosses a kink.
fn well_separated(shape: (usize, usize)) -> Array2<f32> {
    let count = shape.0 * shape.1;
    let mut values: Vec<f32> =
        (0..count).map(|index| (index as f32 - count as f32 / 2.0 + 0.5) / 5.0).collect();
    Random::new(5, Stream::Split, 2).shuffle(&mut values);
    Array2::from_shape_vec(shape, values).unwrap()
}

#[test]
fn rectifier_gradients_match_finite_differences() {
    let (input, by) = (well_separated((2, PIXELS)), random_matrix((2, PIXELS), 1));
    let mut relu = Relu::default();
    relu.forward(input.clone());
    let gradient = relu.backward(by.clone());
    check("relu", &input, &gradient, 0.05, |x| weighted(&Relu::default().forward(x.clone()), &by));
}

#[test]
fn pool_gradients_match_finite_differences() {
    let (input, by) = (well_separated((2, 2 * PIXELS)), random_matrix((2, 2 * POOLED_PIXELS), 1));
    let mut pool = Pool::default();
    pool.forward(&input);
    let gradient = pool.backward(&by);
    check("pool", &input, &gradient, 0.05, |x| weighted(&Pool::default().forward(x), &by));
}

#[test]
fn a_pool_takes_the_largest_of_four() {
    let input =
        Array2::from_shape_fn((1, PIXELS), |(_, pixel)| if pixel == 0 { 100.0 } else { pixel as f32 });
    let pooled = Pool::default().forward(&input);
    assert_eq!(pooled.dim(), (1, 16));
    assert_eq!((pooled[[0, 0]], pooled[[0, 1]], pooled[[0, 4]], pooled[[0, 15]]), (100.0, 11.0, 25.0, 63.0));
}

#[test]
fn loss_gradients_match_finite_differences() {
    let (scores, labels) = (random_matrix((4, CLASSES), 1), [3, 0, 9, 3]);
    let gradient = cross_entropy(&scores, &labels).gradient;
    check("loss", &scores, &gradient, 0.02, |scores| cross_entropy(scores, &labels).mean);
}

#[test]
fn the_loss_of_equal_scores_is_the_logarithm_of_the_classes() {
    let loss = cross_entropy(&Array2::zeros((3, CLASSES)), &[0, 1, 2]);
    assert!((loss.mean - 10.0_f64.ln()).abs() < 1e-6);
    assert_eq!(loss.correct, 1, "the first of equal scores counts as the highest");
    let sure = cross_entropy(&arr2(&[[1000.0, -1000.0], [-1000.0, 1000.0]]), &[0, 0]);
    assert!(sure.mean.is_finite() && sure.mean > 40.0, "{}", sure.mean);
    assert_eq!(sure.correct, 1);
}

#[test]
fn gradients_of_the_whole_network_match_finite_differences() {
    let (images, labels) = (random_matrix((1, 8 * PIXELS), 1), [0, 1, 2, 3, 4, 5, 6, 7]);
    let mut network = Network::new(3);
    let gradient = cross_entropy(&network.forward(&images), &labels).gradient;
    network.backward(&gradient);
    for index in 0..PARAMETERS {
        let parameter = network.parameters()[index].clone();
        let largest = parameter.gradient.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let mut near = 0;
        let stride = parameter.value.len().div_ceil(40);
        let picked: Vec<_> = parameter.gradient.indexed_iter().step_by(stride).collect();
        for &(at, &gradient) in &picked {
            let mut loss = |offset: f32| {
                network.parameters_mut()[index].value[at] = parameter.value[at] + offset;
                cross_entropy(&network.forward(&images), &labels).mean
            };
            let numeric = (loss(2e-3) - loss(-2e-3)) / 4e-3;
            network.parameters_mut()[index].value[at] = parameter.value[at];
            near += usize::from((numeric - f64::from(gradient)).abs() < 0.02 * f64::from(largest));
        }
        // A step may carry some rectifier or maximum over its kink, where the difference is no derivative.
        assert!(near * 10 >= picked.len() * 9, "parameter {index}: {near} of {}", picked.len());
    }
}

#[test]
fn swapping_blocks_transposes_images_and_channels() {
    let maps = arr2(&[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]);
    let swapped = swap_blocks(&maps, 2);
    assert_eq!(swapped, arr2(&[[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]]));
    assert_eq!(swap_blocks(&swapped, 2), maps);
}
