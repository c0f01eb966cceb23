// What is shown of the page's texts and is too faint to be read: its contrast, and its markup.
() => {
    const seen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgba = (colour) => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
            known.set(colour, [red, green, blue, alpha / 255]);
        }
        return known.get(colour);
    };
    const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3]));
    const behind = (element) => {
        const layers = [];
        for (let each = element; each; each = each.parentElement) {
            const style = getComputedStyle(each);
            if (style.backgroundImage !== "none") return null;
            layers.push(rgba(style.backgroundColor));
            if (layers.at(-1)[3] === 1) break;
        }
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const light = (colour) => {
        const [red, green, blue] = colour.map((part) => linear(part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const faint = [];
    for (const element of document.querySelectorAll("body *")) {
        // Nobody reads what is hidden, and what cannot be used need not stand out. A terminal says its text a second
        // time to screen readers, in letters without a colour.
        const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!says || element.closest("svg, [disabled], [data-disabled], [aria-disabled=true], [aria-hidden=true], [inert], .unseen, .xterm-accessibility") || !seen(element)) continue;
        const ground = behind(element);
        if (!ground) continue;
        const style = getComputedStyle(element);
        const [lower, upper] = [light(over(rgba(style.color), ground)), light(ground)].sort((one, other) => one - other);
        const size = parseFloat(style.fontSize);
        const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        const ratio = (upper + 0.05) / (lower + 0.05);
        if (ratio < needed) faint.push(`${ratio.toFixed(2)}: ${element.outerHTML.slice(0, 160)}`);
    }
    return faint;
}
